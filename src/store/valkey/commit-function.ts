/**
 * The Lua of `commit`. It judges a batch unit by unit, each seeing what those before it did, and keeps what they make
 * of records in lists; then it writes everything at once with plain MSET, DEL, ZADD and ZREM.
 */
export const COMMIT_FUNCTION = String.raw`-- Turns go by the clock, not by the partition's time, which stands still after the clock was set back. One that seems to
-- last longer than any does was given before that: it is over.
local function isOn(ends, now) return ends > now and ends - now <= TURN_MS end

-- How long another engine still has its turn on a record this unit writes. An engine's own turns end when they are used.
local function turnAgainst(keys, engine, now, b, from, to, member, use)
	for i = from, to do
		local turn = redis.call('HGET', keys[TURNS], member(b[i]))
		local ends, holder = string.match(turn or '', '^(%d+) (.*)$')
		if ends and isOn(tonumber(ends), now) then
			if use then redis.call('HDEL', keys[TURNS], member(b[i]))
			elseif holder ~= engine then return tonumber(ends) - now end
		end
	end
end

local function giveTurn(keys, engine, now, changed, member, first)
	if first then redis.call('DEL', keys[TURNS]) end
	local ends = whole(now + TURN_MS)
	for _, k in ipairs(changed) do redis.call('HSET', keys[TURNS], member(k), ends .. ' ' .. engine) end
	redis.call('HSET', keys[HEADER], 'turns', ends)
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

-- Commits that told of what is now forgotten: these histories name them.
local function noteOrphaned(keys, histories)
	local commits = {}
	for _, history in ipairs(histories) do
		for item in string.gmatch(history, '[%d:]+') do
			local commit = string.match(item, '^%d+')
			commits[#commits + 1] = commit
			commits[#commits + 1] = commit
		end
	end
	many('ZADD', commits, keys[ORPHANED])
end

-- What a queue's name, or a record's key, is without what stands in front of it.
local function bare(key, prefix) return string.sub(key, prefix + 1) end

-- The score at the end of an entry.
local function scoreOf(entry) return tonumber(string.match(entry, '^.*%z(.*)$')) end

-- Takes entries out of queues and puts others in; notes which queues were empty, and the earliest due time if it is new.
-- Whether a queue that only grew was empty the directory says, to which all of them are added at once.
local function moveEntries(keys, queues, out, into, dueQueue, prefix, notice)
	local grown, names, emptied = {}, {}, {}
	for q in pairs(out.touched) do
		local queue, gone, came = keys[queues + q], 0, 0
		if into[q] and q == dueQueue and not notice.vouched then
			local earliest = nil
			for i = 1, #into[q], 2 do
				local score = tonumber(into[q][i])
				if not earliest or score < tonumber(earliest) then earliest = into[q][i] end
			end
			local head = redis.call('ZRANGE', queue, 0, 0)[1]
			if not head or tonumber(earliest) < scoreOf(head) then notice.due = earliest end
		end
		if out[q] then gone = many('ZREM', out[q], queue) end
		if into[q] then came = many('ZADD', into[q], queue) end
		if came > 0 and gone == 0 then
			grown[#grown + 1] = { q = q, came = came }
			names[2 * #grown - 1], names[2 * #grown] = 0, bare(queue, prefix)
		elseif gone > 0 and came == 0 and redis.call('ZCARD', queue) == 0 then
			emptied[#emptied + 1] = bare(queue, prefix)
		end
	end
	if #emptied > 0 then many('ZREM', emptied, keys[DIRECTORY]) end
	local new = #grown > 0 and many('ZADD', names, keys[DIRECTORY]) or 0
	if new == 0 then return end
	for n, one in ipairs(grown) do
		local filled = new == #grown or redis.call('ZCARD', keys[queues + one.q]) == one.came
		if filled and one.q ~= dueQueue and string.sub(names[2 * n], 1, #LISTING) ~= LISTING then
			notice.filled[#notice.filled + 1] = names[2 * n]
			notice.entries[#notice.filled] = into[one.q]
		end
	end
end

-- Whoever commits knows what it did: with nobody else to hear of it there is nothing to say. Its own channel tells that
-- the one listener is itself; a cluster's nodes know only their own listeners, so there it has none and all is said.
-- A user that may not ask, or not say, has committed all the same.
local function isAlone(args)
	if args[OWN_CHANNEL] == '' then return false end
	local heard = redis.pcall('PUBSUB', 'NUMSUB', args[CHANNEL], args[OWN_CHANNEL])
	return heard[2] == 1 and heard[4] == 1
end

-- The entries of queues that were filled, then what was written, unless it is much.
local function addNews(told, notice, docs, member)
	local keys, chars = {}, 0
	for k = 1, #docs do
		if docs[k] and docs[k] ~= true then
			keys[#keys + 1], chars = k, chars + #docs[k]
		end
	end
	if #keys > NEWS_RECORDS or chars > NEWS_CHARS then return end
	for _, entries in ipairs(notice.entries) do
		if #entries > 2 * NEWS_RECORDS then return end
	end
	for _, entries in ipairs(notice.entries) do
		told[#told + 1] = #entries / 2
		for i = 2, #entries, 2 do told[#told + 1] = entries[i] end
	end
	for _, k in ipairs(keys) do
		told[#told + 1] = member(k)
		told[#told + 1] = docs[k]
	end
end

local function notify(args, time, commits, notice, docs, member)
	if #notice.filled == 0 and #notice.changed == 0 and not notice.due or isAlone(args) then return end
	local told = { args[PARTITION], time, notice.due or '', commits, #notice.filled, #notice.changed }
	for _, name in ipairs(notice.filled) do told[#told + 1] = name end
	for _, name in ipairs(notice.changed) do told[#told + 1] = name end
	-- What entries units moved in turn came to is not known.
	if #notice.filled > 0 and not notice.inTurn then addNews(told, notice, docs, member) end
	redis.pcall('PUBLISH', args[CHANNEL], cjson.encode(told))
end

-- Of these names those that somebody watches are told; a watch that has ended is let go.
local function tellWatched(keys, time, names, notice)
	for from = 1, #names, MOST do
		local watched = redis.call('HMGET', keys[WATCHED], unpack(names, from, math.min(#names, from + MOST - 1)))
		for i, ends in ipairs(watched) do
			local name = names[from + i - 1]
			if ends and tonumber(ends) > time then notice.changed[#notice.changed + 1] = name
			elseif ends then redis.call('HDEL', keys[WATCHED], name) end
		end
	end
end

local function commit(keys, args)
	local call, sub = redis.call, string.sub
	local header = call('HMGET', keys[HEADER], 'time', 'commits', 'turns', 'watched', args[ENGINE], 'stretch')
	local now = clock(args[CLOCK])
	local time = math.max(tonumber(header[1] or 0), tonumber(args[HEARD]), now)
	local commits, number = tonumber(header[2] or 0), tonumber(args[NUMBER])
	local b = numbers(args[SHAPE])
	local units, nRecords, nQueues, nBlobs, dueQueue, prefix, nScores = b[1], b[2], b[3], b[4], b[5], b[6], b[7]
	local writes, inTurn, vouched = b[8] == 1, b[9] == 1, b[10] == 1

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
	local timeText, commitsText = whole(time), whole(commits)

	local docs, queues, blobs = FIXED_KEYS + nRecords, FIXED_KEYS + 2 * nRecords, FIXED_KEYS + 2 * nRecords + nQueues
	local scores, arg, p = FIXED_ARGS, FIXED_ARGS + nScores, 10
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
	local turns = header[3] and isOn(tonumber(header[3]), now)
	-- What the units make of versions, documents, histories and blobs: false while untouched, true for what is to go.
	local versionNow, docNow, historyNow, blobNow = blank(nRecords), blank(nRecords), blank(nRecords), blank(nBlobs)
	local out, into = { touched = {} }, {}
	local notice = { filled = {}, entries = {}, changed = {}, inTurn = inTurn, vouched = vouched }
	local lost, replies, told, cut, orphaned, stamp = {}, {}, 0, {}, nil, ' ' .. commitsText
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
		local turn = turns and (turnAgainst(keys, args[ENGINE], now, b, put + 1, put + b[put], member)
			or turnAgainst(keys, args[ENGINE], now, b, removed + 1, removed + b[removed], member))
		local ok = not changed and not turn
		if ok then
			if turns then
				turnAgainst(keys, args[ENGINE], now, b, put + 1, put + b[put], member, true)
				turnAgainst(keys, args[ENGINE], now, b, removed + 1, removed + b[removed], member, true)
			end
		else
			local reply = { u, turn and time + turn or -1 }
			for i = from, to do
				local k = b[i]
				local doc = docNow[k] or call('GET', keys[docs + k])
				reply[#reply + 1] = versionNow[k] or stored[k] and sub(stored[k], 1, WIDTH) or ABSENT
				reply[#reply + 1] = doc and doc ~= true and doc or ''
			end
			lost[u] = true
			replies[#replies + 1] = reply
			if changed and wantsTurn and not turn then
				giveTurn(keys, args[ENGINE], now, changed, member, not turns)
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
		if ok then
			for i = p + 2, p + 1 + b[p + 1] do
				local k = b[i]
				orphaned = orphaned or {}
				orphaned[#orphaned + 1] = historyNow[k] or stored[k] and sub(stored[k], WIDTH + 1) or ''
				historyNow[k], cut[k] = '', told
			end
		end
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
		call('HSET', keys[LOG], commitsText, #replies > 0 and eventsLeft(args, lost, units) or args[EVENTS])
		local stretch = whole(stretchOf(commits))
		if header[6] ~= stretch then
			call('ZADD', keys[STRETCHES], stretch, stretch)
			call('HSET', keys[HEADER], 'stretch', stretch)
		end
	end
	if orphaned then noteOrphaned(keys, orphaned) end
	moveEntries(keys, queues, out, into, dueQueue, prefix, notice)
	if writes then
		local memo = args[NUMBER] .. stamp .. ' ' .. timeText .. (#replies > 0 and ' l' .. cmsgpack.pack(replies) or ' a')
		call('HSET', keys[HEADER], 'time', timeText, 'commits', commitsText, args[ENGINE], memo)
	else
		call('HSET', keys[HEADER], 'time', timeText)
	end
	if header[4] and tonumber(header[4]) > time then
		local written = told > 0 and { EVENT_LOG } or {}
		for k = 1, nRecords do if docNow[k] then written[#written + 1] = member(k) end end
		tellWatched(keys, time, written, notice)
	end
	notify(args, timeText, commitsText, notice, docNow, member)
	return { time, commits, 1, unpack(replies) }
end
`;
