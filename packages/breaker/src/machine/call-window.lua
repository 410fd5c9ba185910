--[[
The last `size` outcomes. Twin of call-window.ts.

  7 bytes  the clock when the last one was added; then how many of them are failures, and slow calls, 2 bytes each
  then a digit for each, the oldest first: 0, and 1 more for a failure, 2 more for a slow call
]]
windows.calls = function()
  local HEADER, FORGOTTEN = 11, 86400000000 -- a day, in microseconds
  local window = {}

  local function count(digits)
    local _, failures = string.gsub(digits, "[13]", "")
    local _, slow = string.gsub(digits, "[23]", "")
    return failures, slow
  end

  function window.fresh(now)
    return { stamp = now, calls = 0, failures = 0, slow = 0, digits = "" }
  end

  -- nil where the bytes are no window.
  function window.unpack(bytes, size)
    if #bytes < HEADER or #bytes > HEADER + size then
      return nil
    end
    local stamp, failures, slow = struct.unpack(">I7I2I2", bytes)
    local digits = string.sub(bytes, HEADER + 1)
    return { stamp = stamp, calls = #digits, failures = failures, slow = slow, digits = digits }
  end

  function window.pack(state)
    return struct.pack(">I7I2I2", state.stamp, state.failures, state.slow) .. state.digits
  end

  -- Forgets all of it after a day without any outcome. Returns whether the clock stepped back.
  function window.advance(state, now)
    local steppedBack = state.stamp > now
    if steppedBack then
      state.stamp = now
    elseif now - state.stamp >= FORGOTTEN then
      state.stamp, state.calls, state.failures, state.slow, state.digits = now, 0, 0, 0, ""
    end
    return steppedBack
  end

  -- Counts outcomes, as digits.
  function window.add(state, outcomes, now, size)
    local all = state.digits .. outcomes
    local kept = string.sub(all, -size)
    local failures, slow = count(outcomes)
    local leftFailures, leftSlow = count(string.sub(all, 1, #all - #kept))
    state.stamp, state.digits, state.calls = now, kept, #kept
    state.failures = state.failures + failures - leftFailures
    state.slow = state.slow + slow - leftSlow
  end

  -- Microseconds after which a window that nothing is added to is as good as absent.
  function window.expiry()
    return FORGOTTEN
  end

  return window
end
