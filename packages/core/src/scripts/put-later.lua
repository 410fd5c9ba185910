values[key] = value
if life then
  lifetimes[key] = life
end
