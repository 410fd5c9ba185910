-- Takes calls one after the other, run by run. `reply` has the answer to each.
local reply, done, keyAt = {}, 0, 0
for run = 2, #ARGV do
  --- @numbers
  for _ = 1, requests do
    --- @include "answer"
    done, keyAt = done + 1, keyAt + KEY_COUNT
    reply[done] = answer
  end
end
