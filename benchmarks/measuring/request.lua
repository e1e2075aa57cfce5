-- For wrk: sends the given bytes and nothing of its own, and reports in JSON.
-- Arguments: the whole request; with a second argument, a header of that name with another value in each request.

function init(args)
  local raw = args[1]
  if args[2] == nil then
    wrk.format = function() return raw end
    return
  end
  local head = raw:sub(1, -3) .. args[2] .. ": "
  local count = 0
  request = function()
    count = count + 1
    return head .. count .. "\r\n\r\n"
  end
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"errors":{"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d}}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
