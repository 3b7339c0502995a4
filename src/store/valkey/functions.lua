-- What runs inside the server: one function that applies a batch and a few that read. It knows no rules; it compares
-- versions, unit by unit, and then does plain MSET, ZADD, ZREM and one HSET of events per log for the whole batch.
--
-- What must stay true:
-- - Every key that is touched was declared to the call.
-- - A function is not rolled back: whatever could refuse a batch is looked at before the first write.
-- - Documents and events pass through as they came. Lua hashes every byte of every string it makes: reading a document
--   of 1 KB into Lua costs 2 us and putting a version in front of it 3 us, more than storing it. So versions are kept
--   beside the documents, and nothing is joined or cut unless a unit of the batch has lost.
-- - Scores and versions stay strings from the caller to the command: Lua would print large ones rounded.
-- - Scores are not asked for: the server prints them digit by digit, and every entry ends with its own.
-- - Strings are never ordered with <, which follows the server's locale.
-- - redis, string and table are touched inside functions only: they do not exist yet while the library loads.
--
-- Names in capitals that are not defined here come from library.ts, where the program that calls has them too. The layout
-- of the keys is described in partition-keys.ts, that of a commit's arguments in commit-call.ts.

-- Lua hands at most about 8000 values to a function.
local MOST = 4000
-- The log's commits are counted in stretches of so many; so many of them are looked through in one call.
local STRETCH, MOST_STRETCHES = 256, 16
-- A history longer than this is moved out of its owner's version key, which is written with every change.
local MOST_HISTORY = 480
local function stretchOf(commit) return math.floor((commit - 1) / STRETCH) end

-- A list of so many times false. A list made at its full length is quicker than one that grows.
local NOTHING = {}
for i = 1, 256 do NOTHING[i] = false end
local function blank(n)
	if n <= #NOTHING then return { unpack(NOTHING, 1, n) } end
	local list = {}
	for i = 1, n do list[i] = false end
	return list
end

-- A whole number as text. Left to itself Lua, like the server, prints it as a fraction, which takes up to twice as long.
local function whole(n) return string.format('%d', n) end

-- The server's clock. A test gives its own.
local function clock(given)
	if given ~= '' then return tonumber(given) end
	local t = redis.call('TIME')
	return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- The partition's time, as a read is told: what was told once is never undercut. It writes nothing: whoever heard it says
-- so with its next commit.
local function tell(header, given)
	return math.max(tonumber(redis.call('HGET', header, 'time') or 0), clock(given))
end

-- The numbers of a shape: a byte each, or two of seven bits when one of them is large.
local function numbers(shape)
	local wide, all = string.byte(shape, 1) == 2, {}
	for from = 2, #shape, MOST do
		local part = { string.byte(shape, from, from + MOST - 1) }
		if wide then
			for i = 1, #part, 2 do all[#all + 1] = part[i] * 128 + part[i + 1] end
		elseif from == 2 then all = part
		else for i = 1, #part do all[#all + 1] = part[i] end end
	end
	return all
end

local function mget(keys, from, to)
	if to < from then return {} end
	if to - from < MOST then return redis.call('MGET', unpack(keys, from, to)) end
	local found = {}
	for at = from, to, MOST do
		for i, value in ipairs(redis.call('MGET', unpack(keys, at, math.min(to, at + MOST - 1)))) do
			found[at - from + i] = value
		end
	end
	return found
end

-- One command with many arguments, however many; gives the sum of what it says.
local function many(command, list, key, size)
	local sum = 0
	size = size or #list
	for from = 1, size, MOST do
		local to = math.min(size, from + MOST - 1)
		local said
		if key then said = redis.call(command, key, unpack(list, from, to))
		else said = redis.call(command, unpack(list, from, to)) end
		sum = sum + (tonumber(said) or 0)
	end
	return sum
end
-- Turns go by the clock, not by the partition's time, which stands still after the clock was set back. One that seems to
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

-- The events of one log that units which were applied told of, when not all were. Lengths name the unit of each.
local function eventsLeft(text, lengths, lost)
	local left, from = {}, 1
	for at = 1, #lengths, UNIT_WIDTH + LENGTH_WIDTH do
		local unit = tonumber(string.sub(lengths, at, at + UNIT_WIDTH - 1))
		local length = tonumber(string.sub(lengths, at + UNIT_WIDTH, at + UNIT_WIDTH + LENGTH_WIDTH - 1))
		if not lost[unit] then left[#left + 1] = string.sub(text, from, from + length - 1) end
		from = from + length
	end
	return table.concat(left)
end

-- A history is the commits that told of its owner, one behind the other. What has become long lies in chunks beside it,
-- and the history begins with how many there are.
local function partsOf(history)
	local chunks, rest = string.match(history, '^#(%d+)(.*)$')
	return tonumber(chunks or 0), rest or history
end

local function chunkName(owner, n) return owner .. '\0' .. whole(n) end

-- Moves a history that has become long into a chunk of its own.
local function shortened(keys, owner, history)
	local chunks, rest = partsOf(history)
	redis.call('HSET', keys[CHUNKS], chunkName(owner, chunks), rest)
	return '#' .. whole(chunks + 1)
end

-- Notes that a history is over: its events go when they are old. Of the commit that ended it only those before a place
-- belong to it.
local function noteForgotten(keys, log, owner, history, ending)
	local chunks, rest = partsOf(history)
	local tail = '\0' .. ending .. '\0' .. log .. '\0' .. owner
	local function note(items)
		local first = string.match(items, '%d+')
		if first then redis.call('ZADD', keys[FORGOTTEN], first, items .. tail) end
	end
	for n = 0, chunks - 1 do
		note(redis.call('HGET', keys[CHUNKS], chunkName(owner, n)) or '')
		redis.call('HDEL', keys[CHUNKS], chunkName(owner, n))
	end
	note(rest)
end

-- What a queue's name, or a record's key, is without what stands in front of it.
local function bare(key, prefix) return string.sub(key, prefix + 1) end

-- The score at the end of an entry.
local function scoreOf(entry) return tonumber(string.match(entry, '^.*%z(.*)$')) end

-- Queues nobody waits for are not told of.
local function isTold(queue)
	return string.sub(queue, 1, #LISTING) ~= LISTING and string.sub(queue, 1, #PARTS) ~= PARTS
end

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
		if filled and one.q ~= dueQueue and isTold(names[2 * n]) then
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

-- The entries of queues that were filled, then the records that stand there, unless much was written. What stands in no
-- queue is not told: everybody hears a notice, and it may be a secret.
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
	local standing = {}
	for _, entries in ipairs(notice.entries) do
		told[#told + 1] = #entries / 2
		for i = 2, #entries, 2 do
			told[#told + 1] = entries[i]
			standing[string.match(entries[i], '^(.*)%z')] = true
		end
	end
	for _, k in ipairs(keys) do
		if standing[member(k)] then
			told[#told + 1] = member(k)
			told[#told + 1] = docs[k]
		end
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
	local units, nRecords, nQueues, nBlobs, nLogs = b[1], b[2], b[3], b[4], b[5]
	local dueQueue, prefix, nScores, writes, inTurn, vouched = b[6], b[7], b[8], b[9] == 1, b[10] == 1, b[11] == 1

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
	local logs = blobs + nBlobs
	local scores = FIXED_ARGS + 2 * nLogs
	local arg, p = scores + nScores, 11
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
	local lost, replies, appended, told, cut, forgotten, stamp = {}, {}, {}, 0, {}, nil, ' ' .. commitsText
	local function note(k)
		local history = historyNow[k]
		if not history then historyNow[k] = (stored[k] and sub(stored[k], WIDTH + 1) or '') .. stamp
		elseif history == '' then historyNow[k] = stamp .. ':' .. cut[k] end
	end
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
		-- Events, each as log, owner and group, which may be none.
		if ok then
			for i = p + 2, p + 3 * b[p + 1], 3 do
				appended[b[i]] = true
				note(b[i + 1])
				if b[i + 2] > 0 then note(b[i + 2]) end
			end
		end
		told = told + b[p + 1]
		p = p + 1 + 3 * b[p + 1]
		-- Owners forgotten, each as log and owner.
		if ok then
			for i = p + 2, p + 2 * b[p + 1], 2 do
				local k = b[i + 1]
				forgotten = forgotten or {}
				forgotten[#forgotten + 1] = {
					log = b[i], owner = k, ending = commitsText .. ':' .. told,
					history = historyNow[k] or stored[k] and sub(stored[k], WIDTH + 1) or '',
				}
				historyNow[k], cut[k] = '', told
			end
		end
		p = p + 1 + 2 * b[p + 1]
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
			if #history > MOST_HISTORY then history = shortened(keys, member(k), history) end
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
	for l = 1, nLogs do
		if appended[l] then
			local text, lengths = args[FIXED_ARGS + 2 * l - 1], args[FIXED_ARGS + 2 * l]
			call('HSET', keys[logs + l], commitsText, #replies > 0 and eventsLeft(text, lengths, lost) or text)
			local name = bare(keys[logs + l], prefix)
			local stretch = whole(stretchOf(commits))
			-- Noted already if the latest commit that told of something did so for the same log and stretch.
			if header[6] ~= stretch .. ' ' .. name then
				call('ZADD', keys[logs + nLogs + l], stretch, stretch)
				call('ZADD', keys[LOGS], 0, name)
				header[6] = stretch .. ' ' .. name
				call('HSET', keys[HEADER], 'stretch', header[6])
			end
		end
	end
	for _, one in ipairs(forgotten or {}) do
		noteForgotten(keys, bare(keys[logs + one.log], prefix), member(one.owner), one.history, one.ending)
	end
	moveEntries(keys, queues, out, into, dueQueue, prefix, notice)
	if writes then
		local memo = args[NUMBER] .. stamp .. ' ' .. timeText .. (#replies > 0 and ' l' .. cmsgpack.pack(replies) or ' a')
		call('HSET', keys[HEADER], 'time', timeText, 'commits', commitsText, args[ENGINE], memo)
	else
		call('HSET', keys[HEADER], 'time', timeText)
	end
	if header[4] and tonumber(header[4]) > time then
		local written = {}
		for l = 1, nLogs do if appended[l] then written[#written + 1] = LOG_SUBJECT .. bare(keys[logs + l], prefix) end end
		for k = 1, nRecords do if docNow[k] then written[#written + 1] = member(k) end end
		tellWatched(keys, time, written, notice)
	end
	notify(args, timeText, commitsText, notice, docNow, member)
	return { time, commits, 1, unpack(replies) }
end
-- Versions first, then documents: KEYS holds both, half and half.
local function read(keys, args)
	local time, found, half = tell(keys[HEADER], args[1]), mget(keys, 2, #keys), (#keys - 1) / 2
	for i = 1, half do found[i] = found[i] and string.sub(found[i], 1, WIDTH) end
	return { time, found }
end

-- One plain command on one key.
local function ask(keys, args)
	return { tell(keys[HEADER], args[1]), redis.call(args[2], keys[2], unpack(args, 3)) }
end

local function isBefore(a, b)
	for i = 1, math.min(#a, #b) do
		local x, y = string.byte(a, i), string.byte(b, i)
		if x ~= y then return x < y end
	end
	return #a < #b
end

-- The entries behind a position, which itself may be gone: its place among equal scores is searched for.
local function behind(keys, args)
	local queue, count, score, entry = keys[2], tonumber(args[2]), args[3], args[4]
	local low, high = redis.call('ZCOUNT', queue, '-inf', '(' .. score), redis.call('ZCOUNT', queue, '-inf', score)
	while low < high do
		local middle = math.floor((low + high) / 2)
		if isBefore(entry, redis.call('ZRANGE', queue, middle, middle)[1]) then high = middle else low = middle + 1 end
	end
	return { tell(keys[HEADER], args[1]), redis.call('ZRANGE', queue, low, low + count - 1) }
end

-- A log's entries of a stretch, from a commit on.
local function entriesIn(log, stretch, from)
	local wanted = {}
	for commit = math.max(from, stretch * STRETCH + 1), (stretch + 1) * STRETCH do wanted[#wanted + 1] = commit end
	return wanted, redis.call('HMGET', log, unpack(wanted))
end

-- Entries of a log from a commit on. Where much was trimmed there is little to be found for long: the search is broken off
-- and says where it goes on. KEYS: header, log, stretches.
local function events(keys, args)
	local log, from, count, found, on = keys[2], tonumber(args[2]), tonumber(args[3]), {}, 0
	local there = redis.call('ZRANGE', keys[3], stretchOf(from), '+inf', 'BYSCORE', 'LIMIT', 0, MOST_STRETCHES)
	for n, stretch in ipairs(there) do
		local commits, texts = entriesIn(log, tonumber(stretch), from)
		for i, text in ipairs(texts) do
			if text and #found < 2 * count then
				found[#found + 1] = whole(commits[i])
				found[#found + 1] = text
				on = commits[i] + 1
			end
		end
		if #found >= 2 * count then break end
		on = n == MOST_STRETCHES and commits[#commits] + 1 or 0
	end
	return { tell(keys[HEADER], args[1]), found, on }
end

-- Entries of a log from a commit on that tell of one owner, and where to go on if there are more. KEYS: header, log, the
-- owner's version, chunks. ARGV: clock, from, count, owner.
local function history(keys, args)
	local log, owner, from, count, found, on = keys[2], args[4], tonumber(args[2]), tonumber(args[3]), {}, 0
	local chunks, rest = partsOf(string.sub(redis.call('GET', keys[3]) or '', WIDTH + 1))
	local function chunk(n) return redis.call('HGET', keys[4], chunkName(owner, n)) or '' end
	local function take(items)
		for item in string.gmatch(items, '[%d:]+') do
			local commit = string.match(item, '^%d+')
			if tonumber(commit) >= from then
				if #found >= 2 * count then
					on = tonumber(commit)
					return false
				end
				found[#found + 1] = item
				found[#found + 1] = redis.call('HGET', log, commit) or ''
			end
		end
		return true
	end
	local low, high = 0, chunks
	while low < high do
		local middle = math.floor((low + high) / 2)
		local last = string.match(chunk(middle), '(%d+):?%d*$')
		if tonumber(last or 0) < from then low = middle + 1 else high = middle end
	end
	local more = true
	for n = low, chunks - 1 do
		more = take(chunk(n))
		if not more then break end
	end
	if more then take(rest) end
	return { tell(keys[HEADER], args[1]), found, on }
end

-- What is left of an entry of a log when some of its events go, unless somebody else has trimmed it meanwhile. KEYS:
-- header, log, stretches, logs. ARGV: clock, commit, its text, what is left, name of the log.
local function trim(keys, args)
	local time, log, commit, text, left = tell(keys[HEADER], args[1]), keys[2], args[2], args[3], args[4]
	if redis.call('HGET', log, commit) ~= text then return { time, 0 } end
	if left ~= '' then
		redis.call('HSET', log, commit, left)
		return { time, 1 }
	end
	redis.call('HDEL', log, commit)
	local stretch = stretchOf(tonumber(commit))
	local _, texts = entriesIn(log, stretch, 1)
	for i = 1, STRETCH do if texts[i] then return { time, 1 } end end
	redis.call('ZREM', keys[3], stretch)
	if redis.call('EXISTS', log) == 0 then redis.call('ZREM', keys[4], args[5]) end
	-- The next commit that falls into it notes it again.
	redis.call('HDEL', keys[HEADER], 'stretch')
	return { time, 1 }
end

-- Watches of records for so many milliseconds from now.
local function watch(keys, args)
	local time, marks = tell(keys[HEADER], args[1]), {}
	local ends = time + tonumber(args[2])
	for i = 3, #args do
		marks[#marks + 1] = args[i]
		marks[#marks + 1] = ends
	end
	many('HSET', marks, keys[2])
	if tonumber(redis.call('HGET', keys[HEADER], 'watched') or 0) < ends then
		redis.call('HSET', keys[HEADER], 'watched', ends)
	end
	return { time, 0 }
end

-- Lets go of watches that have ended and of answers nobody will ask for again.
local function sweep(keys, args)
	local time, swept = tell(keys[HEADER], args[1]), 0
	local cursor = '0'
	repeat
		local page = redis.call('HSCAN', keys[2], cursor, 'COUNT', 1000)
		cursor = page[1]
		for i = 1, #page[2], 2 do
			if tonumber(page[2][i + 1]) <= time then swept = swept + redis.call('HDEL', keys[2], page[2][i]) end
		end
	until cursor == '0'
	local header = redis.call('HGETALL', keys[HEADER])
	for i = 1, #header, 2 do
		local answered = string.sub(header[i], 1, 2) == 'e:' and string.match(header[i + 1], '^%d+ %d+ (%d+)')
		if answered and time - tonumber(answered) > tonumber(args[2]) then
			swept = swept + redis.call('HDEL', keys[HEADER], header[i])
		end
	end
	return { time, swept }
end

