if life then
  call("SET", key, value, "PX", life)
else
  call("SETRANGE", key, "0", value)
end
