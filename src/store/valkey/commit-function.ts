/**
 * The Lua of `commit`. It judges a batch unit by unit, each seeing what those before it did, and keeps what they make
 * of records in lists; then it writes everything at once with plain MSET, DEL, ZADD and ZREM.
 */
export const COMMIT_FUNCTION = String.raw`-- The end of another engine's turn on a record this unit writes. An engine's own turns end when they are used.
local function turnAgainst(keys, engine, time, b, from, to, member, use)
	for i = from, to do
		local turn = redis.call('HGET', keys[TURNS], member(b[i]))
		local ends, holder = string.match(turn or '', '^(%d+) (.*)$')
		if ends and tonumber(ends) > time then
			if use then redis.call('HDEL', keys[TURNS], member(b[i]))
			elseif holder ~= engine then return tonumber(ends) end
		end
	end
end

local function giveTurn(keys, engine, time, changed, member, first)
	if first then redis.call('DEL', keys[TURNS]) end
	for _, k in ipairs(changed) do redis.call('HSET', keys[TURNS], member(k), (time + TURN_MS) .. ' ' .. engine) end
	redis.call('HSET', keys[HEADER], 'turns', time + TURN_MS)
end

-- The events of the units that were applied, when not all were.
local function eventsLeft(args, lost, units)
	local left, from = {}, 1
	for u = 1, units do
		local length = tonumber(string.sub(args[LENGTHS], LENGTH_WIDTH * (u - 1) + 1, LENGTH_WIDTH * u))
		if not lost[u] then left[#left + 1] = string.sub(args[EVENTS], from, from + length - 1) end
		from = from + length
	end
	return table.concat(left)
end

-- What a queue's name, or a record's key, is without what stands in front of it.
local function bare(key, prefix) return string.sub(key, prefix + 1) end

-- Takes entries out of queues and puts others in; notes which queues were empty, and the earliest due time if it is new.
local function moveEntries(keys, queues, out, into, dueQueue, prefix, notice)
	for q in pairs(out.touched) do
		local queue, gone, came = keys[queues + q], 0, 0
		if into[q] and q == dueQueue then
			local earliest = nil
			for i = 1, #into[q], 2 do
				local score = tonumber(into[q][i])
				if not earliest or score < tonumber(earliest) then earliest = into[q][i] end
			end
			local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')[2]
			if not head or tonumber(earliest) < tonumber(head) then notice.due = earliest end
		end
		if out[q] then gone = many('ZREM', out[q], queue) end
		if into[q] then came = many('ZADD', into[q], queue) end
		if gone > 0 or came > 0 then
			local left = redis.call('ZCARD', queue)
			if left == 0 then redis.call('ZREM', keys[DIRECTORY], bare(queue, prefix))
			elseif left == came - gone then
				redis.call('ZADD', keys[DIRECTORY], 0, bare(queue, prefix))
				if q ~= dueQueue then notice.filled[#notice.filled + 1] = bare(queue, prefix) end
			end
		end
	end
end

-- Whoever commits knows what it did: with nobody else to hear of it there is nothing to say. Its own channel tells that
-- the one listener is itself; a cluster's nodes know only their own listeners, so there it has none and all is said.
local function isAlone(args)
	if args[OWN_CHANNEL] == '' then return false end
	local heard = redis.call('PUBSUB', 'NUMSUB', args[CHANNEL], args[OWN_CHANNEL])
	return heard[2] == 1 and heard[4] == 1
end

local function notify(args, time, notice)
	if #notice.filled == 0 and #notice.changed == 0 and not notice.due or isAlone(args) then return end
	local told = { args[PARTITION], string.format('%.0f', time), notice.due or '', #notice.filled }
	for _, name in ipairs(notice.filled) do told[#told + 1] = name end
	for _, name in ipairs(notice.changed) do told[#told + 1] = name end
	redis.call('PUBLISH', args[CHANNEL], cjson.encode(told))
end

-- Names among those of records that somebody watches; a watch that has ended is let go.
local function tellIfWatched(keys, time, name, notice)
	local ends = redis.call('HGET', keys[WATCHED], name)
	if not ends then return end
	if tonumber(ends) > time then notice.changed[#notice.changed + 1] = name
	else redis.call('HDEL', keys[WATCHED], name) end
end

local function commit(keys, args)
	local call, sub = redis.call, string.sub
	local header = call('HMGET', keys[HEADER], 'time', 'commits', 'turns', 'watched', args[ENGINE])
	local time = timeAfter(math.max(tonumber(header[1] or 0), tonumber(args[HEARD])), args[CLOCK])
	local commits, number = tonumber(header[2] or 0), tonumber(args[NUMBER])
	local b = numbers(args[SHAPE])
	local units, nRecords, nQueues, nBlobs, dueQueue, prefix, nScores = b[1], b[2], b[3], b[4], b[5], b[6], b[7]
	local writes, inTurn = b[8] == 1, b[9] == 1

	-- What this engine's last batch was answered.
	local last, commitThen, timeThen, kind, rest = string.match(header[5] or '', '^(%d+) (%d+) (%d+) (%a)(.*)$')
	if last and number <= tonumber(last) then
		call('HSET', keys[HEADER], 'time', time)
		if number < tonumber(last) then return { time, 0, 0 } end
		local reply = { tonumber(timeThen), tonumber(commitThen), kind == 'n' and 0 or 1 }
		if kind == 'l' then for _, one in ipairs(cmsgpack.unpack(rest)) do reply[#reply + 1] = one end end
		return reply
	end
	if tonumber(args[AT]) > time or time - tonumber(args[AT]) > TOLERANCE_MS then
		-- Its engine runs the rules again under a new number: a late copy must not find its time come after all.
		call('HSET', keys[HEADER], 'time', time)
		if writes then call('HSET', keys[HEADER], args[ENGINE], args[NUMBER] .. ' ' .. commits .. ' ' .. time .. ' n') end
		return { time, commits, 0 }
	end
	if writes then commits = commits + 1 end

	local docs, queues, blobs = FIXED_KEYS + nRecords, FIXED_KEYS + 2 * nRecords, FIXED_KEYS + 2 * nRecords + nQueues
	local scores, arg, p = FIXED_ARGS, FIXED_ARGS + nScores, 9
	local names = blank(nRecords)
	local function member(k)
		local name = names[k]
		if not name then
			name = bare(keys[FIXED_KEYS + k], prefix)
			names[k] = name
		end
		return name
	end

	local stored = mget(keys, FIXED_KEYS + 1, FIXED_KEYS + nRecords)
	local version, versions, at = string.format(VERSION_FORM, commits), args[VERSIONS], 1
	local turns = header[3] and tonumber(header[3]) > time
	-- What the units make of versions, documents, histories and blobs: false while untouched, true for what is to go.
	local versionNow, docNow, historyNow, blobNow = blank(nRecords), blank(nRecords), blank(nRecords), blank(nBlobs)
	local out, into, notice = { touched = {} }, {}, { filled = {}, changed = {} }
	local lost, replies, told, cut, stamp = {}, {}, 0, {}, ' ' .. commits
	for u = 1, units do
		local from, to, changed = p + 3, p + 2 + b[p + 2], nil
		for i = from, to do
			local k = b[i]
			local found = versionNow[k] or stored[k] and sub(stored[k], 1, WIDTH) or ABSENT
			if found ~= sub(versions, at, at + WIDTH - 1) then
				changed = changed or {}
				changed[#changed + 1] = k
			end
			at = at + WIDTH
		end
		local wantsTurn, put, removed = b[p + 1] == 1, to + 1, to + 2 + b[to + 1]
		local turn = turns and (turnAgainst(keys, args[ENGINE], time, b, put + 1, put + b[put], member)
			or turnAgainst(keys, args[ENGINE], time, b, removed + 1, removed + b[removed], member))
		local ok = not changed and not turn
		if ok then
			if turns then
				turnAgainst(keys, args[ENGINE], time, b, put + 1, put + b[put], member, true)
				turnAgainst(keys, args[ENGINE], time, b, removed + 1, removed + b[removed], member, true)
			end
		else
			local reply = { u, turn or -1 }
			for i = from, to do
				local k = b[i]
				local doc = docNow[k] or call('GET', keys[docs + k])
				reply[#reply + 1] = versionNow[k] or stored[k] and sub(stored[k], 1, WIDTH) or ABSENT
				reply[#reply + 1] = doc and doc ~= true and doc or ''
			end
			lost[u] = true
			replies[#replies + 1] = reply
			if changed and wantsTurn and not turn then
				giveTurn(keys, args[ENGINE], time, changed, member, not turns)
				turns = true
			end
		end

		for i = put + 1, put + b[put] do
			arg = arg + 1
			if ok then versionNow[b[i]], docNow[b[i]] = version, args[arg] end
		end
		p = removed + b[removed]
		if ok then for i = removed + 1, p do versionNow[b[i]], docNow[b[i]] = ABSENT, true end end
		if ok then
			for i = p + 2, p + 1 + b[p + 1] do
				local k = b[i]
				local history = historyNow[k]
				if not history then historyNow[k] = (stored[k] and sub(stored[k], WIDTH + 1) or '') .. stamp
				elseif history == '' then historyNow[k] = stamp .. ':' .. cut[k] end
				told = told + 1
			end
		end
		p = p + 1 + b[p + 1]
		if ok then for i = p + 2, p + 1 + b[p + 1] do historyNow[b[i]], cut[b[i]] = '', told end end
		p = p + 1 + b[p + 1]
		for i = p + 2, p + 1 + b[p + 1] do
			arg = arg + 1
			if ok then blobNow[b[i]] = args[arg] end
		end
		p = p + 1 + b[p + 1]
		if ok then for i = p + 2, p + 1 + b[p + 1] do blobNow[b[i]] = true end end
		p = p + 1 + b[p + 1]
		-- Entries removed, then entries added, each as queue, record and score.
		if ok then
			for i = p + 2, p + 3 * b[p + 1], 3 do
				local q = b[i]
				local list = out[q]
				if not list then
					list, out.touched[q] = {}, true
					out[q] = list
				end
				list[#list + 1] = member(b[i + 1]) .. '\0' .. args[scores + b[i + 2]]
			end
		end
		p = p + 1 + 3 * b[p + 1]
		if ok then
			for i = p + 2, p + 3 * b[p + 1], 3 do
				local q, score = b[i], args[scores + b[i + 2]]
				local list = into[q]
				if not list then
					list, out.touched[q] = {}, true
					into[q] = list
				end
				local n = #list
				list[n + 1], list[n + 2] = score, member(b[i + 1]) .. '\0' .. score
			end
			if inTurn then
				moveEntries(keys, queues, out, into, dueQueue, prefix, notice)
				out, into = { touched = {} }, {}
			end
		end
		p = p + 1 + 3 * b[p + 1]
	end

	local set, size, del = blank(4 * nRecords), 0, {}
	for k = 1, nRecords do
		local doc, v, history = docNow[k], versionNow[k], historyNow[k]
		if doc == true then del[#del + 1] = keys[docs + k]
		elseif doc then set[size + 1], set[size + 2], size = keys[docs + k], doc, size + 2 end
		if v or history then
			v = v or stored[k] and sub(stored[k], 1, WIDTH) or ABSENT
			history = history or stored[k] and sub(stored[k], WIDTH + 1) or ''
			if v == ABSENT and history == '' then del[#del + 1] = keys[FIXED_KEYS + k]
			else set[size + 1], set[size + 2], size = keys[FIXED_KEYS + k], v .. history, size + 2 end
		end
	end
	for x = 1, nBlobs do
		local bytes = blobNow[x]
		if bytes == true then del[#del + 1] = keys[blobs + x]
		elseif bytes then set[size + 1], set[size + 2], size = keys[blobs + x], bytes, size + 2 end
	end
	if size > 0 then many('MSET', set, nil, size) end
	if #del > 0 then many('DEL', del) end
	if told > 0 then
		call('HSET', keys[LOG], commits, #replies > 0 and eventsLeft(args, lost, units) or args[EVENTS])
	end
	moveEntries(keys, queues, out, into, dueQueue, prefix, notice)
	if header[4] and tonumber(header[4]) > time then
		for k = 1, nRecords do if docNow[k] then tellIfWatched(keys, time, member(k), notice) end end
		if told > 0 then tellIfWatched(keys, time, EVENT_LOG, notice) end
	end
	notify(args, time, notice)
	if writes then
		local memo = args[NUMBER] .. ' ' .. commits .. ' ' .. time
		memo = memo .. (#replies > 0 and ' l' .. cmsgpack.pack(replies) or ' a')
		call('HSET', keys[HEADER], 'time', time, 'commits', commits, args[ENGINE], memo)
	else
		call('HSET', keys[HEADER], 'time', time)
	end
	return { time, commits, 1, unpack(replies) }
end
`;
