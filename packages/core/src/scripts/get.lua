bytes = redis.pcall("GET", key)
