for key, value in pairs(values) do
  local life = lifetimes[key]
  --- @include "put"
end
