-- Brings a counter to the present, or makes one that is as if unused.
if bytes then
  elapsed = now - stamp
  if elapsed < 0 then
    elapsed, isAhead = 0, true -- the clock stepped back: the state is taken as of now, so nobody waits longer than before
  end
  --- @limits advance
else
  lives = 0
  --- @zero
  --- @limits fresh
end
