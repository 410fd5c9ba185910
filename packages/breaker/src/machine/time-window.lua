--[[
Outcomes of the last `length` microseconds, in sub-windows aligned to the epoch. Twin of time-window.ts.

The window has 624 bytes:
  7 bytes  the index of the newest sub-window since the epoch; then the totals: calls, failures, slow calls, 5 bytes each;
  2 bytes  zero
  then for each sub-window, at position index % SUB_WINDOWS: calls, failures, slow calls, 4 bytes each
]]
windows.time = function()
  local SUB_WINDOWS, HEADER_WIDTH, SUB_WINDOW_WIDTH, MAX_COUNT = 50, 24, 12, 2 ^ 32 - 1
  local EMPTY = string.rep("\0", SUB_WINDOW_WIDTH)
  local window = {}

  local function positionOf(index)
    return HEADER_WIDTH + (index % SUB_WINDOWS) * SUB_WINDOW_WIDTH
  end

  local function replace(bytes, index, counts)
    local position = positionOf(index)
    return string.sub(bytes, 1, position) .. counts .. string.sub(bytes, position + SUB_WINDOW_WIDTH + 1)
  end

  function window.createEmpty(now, length)
    return {
      newest = math.floor(now / (length / SUB_WINDOWS)),
      calls = 0,
      failures = 0,
      slowCalls = 0,
      bytes = string.rep("\0", HEADER_WIDTH + SUB_WINDOWS * SUB_WINDOW_WIDTH),
    }
  end

  -- Returns nil if the bytes are not a window.
  function window.unpack(bytes)
    if #bytes ~= HEADER_WIDTH + SUB_WINDOWS * SUB_WINDOW_WIDTH then
      return nil
    end
    local newest, calls, failures, slowCalls = struct.unpack(">I7I5I5I5", bytes)
    return { newest = newest, calls = calls, failures = failures, slowCalls = slowCalls, bytes = bytes }
  end

  function window.pack(state)
    return struct.pack(">I7I5I5I5I2", state.newest, state.calls, state.failures, state.slowCalls, 0)
      .. string.sub(state.bytes, HEADER_WIDTH + 1)
  end

  -- Forgets the sub-windows that have left the window. Returns whether the clock stepped back.
  function window.advance(state, now, length)
    local newest = math.floor(now / (length / SUB_WINDOWS))
    local steppedBack = newest < state.newest
    if steppedBack then
      -- The counts move back with the clock.
      local kept = string.sub(state.bytes, HEADER_WIDTH + 1)
      local shift = (newest - state.newest) % SUB_WINDOWS * SUB_WINDOW_WIDTH
      kept = string.sub(kept, #kept - shift + 1) .. string.sub(kept, 1, #kept - shift)
      state.bytes, state.newest = string.sub(state.bytes, 1, HEADER_WIDTH) .. kept, newest
    end
    for index = math.max(state.newest + 1, newest - SUB_WINDOWS + 1), newest do
      local calls, failures, slowCalls = struct.unpack(">I4I4I4", state.bytes, positionOf(index) + 1)
      if calls > 0 then
        state.calls = state.calls - calls
        state.failures = state.failures - failures
        state.slowCalls = state.slowCalls - slowCalls
        state.bytes = replace(state.bytes, index, EMPTY)
      end
    end
    state.newest = newest
    return steppedBack
  end

  -- Adds outcomes, given as the text "calls failures slowCalls".
  function window.add(state, outcomes)
    local calls, failures, slowCalls = string.match(outcomes, "^(%d+) (%d+) (%d+)$")
    local callsBefore, failuresBefore, slowCallsBefore = struct.unpack(">I4I4I4", state.bytes, positionOf(state.newest) + 1)
    calls = math.min(tonumber(calls), MAX_COUNT - callsBefore)
    failures = math.min(tonumber(failures), MAX_COUNT - failuresBefore)
    slowCalls = math.min(tonumber(slowCalls), MAX_COUNT - slowCallsBefore)
    local counts = struct.pack(">I4I4I4", callsBefore + calls, failuresBefore + failures, slowCallsBefore + slowCalls)
    state.bytes = replace(state.bytes, state.newest, counts)
    state.calls = state.calls + calls
    state.failures = state.failures + failures
    state.slowCalls = state.slowCalls + slowCalls
  end

  -- Microseconds after which a window without new outcomes is the same as none.
  function window.retentionMicros(length)
    return length
  end

  return window
end
