"""Five data holders as executors of NVFlare, and a coordinator as its controller."""
