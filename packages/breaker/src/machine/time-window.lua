--[[
Outcomes of the last `length` microseconds, in sub-windows aligned to the epoch. Twin of time-window.ts.

Its 624 bytes:
  7 bytes  the number of the newest sub-window since the epoch; then the totals: calls, failures, slow calls, 5 bytes each;
  2 bytes  zero
  then for each sub-window, the one with number n at place n % SUB_WINDOWS: calls, failures, slow calls, 4 bytes each
]]
windows.time = function()
  local SUB_WINDOWS, HEADER, WIDTH, MOST = 50, 24, 12, 2 ^ 32 - 1
  local EMPTY = string.rep("\0", WIDTH)
  local window = {}

  local function positionOf(index)
    return HEADER + (index % SUB_WINDOWS) * WIDTH
  end

  local function replace(bytes, index, counts)
    local position = positionOf(index)
    return string.sub(bytes, 1, position) .. counts .. string.sub(bytes, position + WIDTH + 1)
  end

  function window.fresh(now, length)
    return {
      newest = math.floor(now / (length / SUB_WINDOWS)),
      calls = 0,
      failures = 0,
      slow = 0,
      bytes = string.rep("\0", HEADER + SUB_WINDOWS * WIDTH),
    }
  end

  -- nil where the bytes are no window.
  function window.unpack(bytes)
    if #bytes ~= HEADER + SUB_WINDOWS * WIDTH then
      return nil
    end
    local newest, calls, failures, slow = struct.unpack(">I7I5I5I5", bytes)
    return { newest = newest, calls = calls, failures = failures, slow = slow, bytes = bytes }
  end

  function window.pack(state)
    return struct.pack(">I7I5I5I5I2", state.newest, state.calls, state.failures, state.slow, 0)
      .. string.sub(state.bytes, HEADER + 1)
  end

  -- Forgets the sub-windows that have left the window. Returns whether the clock stepped back.
  function window.advance(state, now, length)
    local newest = math.floor(now / (length / SUB_WINDOWS))
    local steppedBack = newest < state.newest
    if steppedBack then
      -- The clock stepped back: what was counted is taken as of now.
      local kept = string.sub(state.bytes, HEADER + 1)
      local shift = (newest - state.newest) % SUB_WINDOWS * WIDTH
      kept = string.sub(kept, #kept - shift + 1) .. string.sub(kept, 1, #kept - shift)
      state.bytes, state.newest = string.sub(state.bytes, 1, HEADER) .. kept, newest
    end
    for index = math.max(state.newest + 1, newest - SUB_WINDOWS + 1), newest do
      local calls, failures, slow = struct.unpack(">I4I4I4", state.bytes, positionOf(index) + 1)
      if calls > 0 then
        state.calls = state.calls - calls
        state.failures = state.failures - failures
        state.slow = state.slow - slow
        state.bytes = replace(state.bytes, index, EMPTY)
      end
    end
    state.newest = newest
    return steppedBack
  end

  -- Counts outcomes: "calls failures slow".
  function window.add(state, outcomes)
    local calls, failures, slow = string.match(outcomes, "^(%d+) (%d+) (%d+)$")
    local hadCalls, hadFailures, hadSlow = struct.unpack(">I4I4I4", state.bytes, positionOf(state.newest) + 1)
    calls = math.min(tonumber(calls), MOST - hadCalls)
    failures = math.min(tonumber(failures), MOST - hadFailures)
    slow = math.min(tonumber(slow), MOST - hadSlow)
    local counts = struct.pack(">I4I4I4", hadCalls + calls, hadFailures + failures, hadSlow + slow)
    state.bytes = replace(state.bytes, state.newest, counts)
    state.calls = state.calls + calls
    state.failures = state.failures + failures
    state.slow = state.slow + slow
  end

  -- Microseconds after which a window that nothing is added to is as good as absent.
  function window.expiry(length)
    return length
  end

  return window
end
