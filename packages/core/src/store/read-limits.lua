--[[
Reads `limits` from the next argument, the description of a unit's limits, once a call. Each limit is four words: its algorithm
and that one's parameters, 0 for what it has no use for. To add 0 makes a number of a text, in half the time of tonumber.

An algorithm that is named defines its functions here, with the quota around them: that is cheaper to read than a table of it.
  wait(state, cost, elapsed)  brings a state to the present, `elapsed` microseconds later, and returns how long would have to be
                              waited for `cost`: `advance` and `wait` of its twin. nil for garbage, false for a foreign key
  report(state, cost)         charges `cost`, 0 to only look, and returns what is left: `spend` and `report` of its twin
  refund(state, cost, age)    in a script that `givesBack`
A state is in its unit's array, from `at` on, `numbers` of them, packed as `format` says.
]]
argumentAt = argumentAt + 1
local description = ARGV[argumentAt]
local limits = known[description]
if not limits then
  local packed, place, keys = ">I7I6", STATES, 1
  limits = { format = false, width = false, keys = false, last = false } -- and of each limit its `wait` and its `report`
  for name, first, second, third in string.gmatch(description, "(%S+) (%S+) (%S+) (%S+)") do
    local at, format, numbers, wait, report, refund = place
    --- @include "../algorithms/token-bucket"
    --- @include "../algorithms/fixed-window"
    --- @include "../algorithms/sliding-window"
    --- @include "../algorithms/sliding-log"
    local n = #limits
    limits[n + 1], limits[n + 2] = wait, report
    if givesBack then
      refunds[report] = refund
    end
    packed, place = packed .. format, place + numbers
  end
  limits.format, limits.width, limits.keys, limits.last = packed, struct.size(packed), keys, place - 1
  known[description] = limits
end
