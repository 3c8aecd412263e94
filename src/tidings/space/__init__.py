"""Where things are: metrics, boxes, polygons, regions as flat numbers, regions as JSON, and space-filling curves."""
