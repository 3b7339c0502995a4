import { EVENT_LOG, LISTING, MOST_NEWS } from "../port.ts";
import { COMMIT_FUNCTION } from "./commit-function.ts";

/**
 * Raised with every release that changes the text below or the format of records. The functions' names carry it, so that a program never calls a function
 * that takes its arguments otherwise than it thinks.
 */
export const LIBRARY_VERSION = 1;

const functions = ["start", "commit", "read", "ask", "behind", "events", "trim", "watch", "sweep"] as const;

/** A function's name in the server. */
export const functionName = (name: (typeof functions)[number]): string => `ff${LIBRARY_VERSION}_${name}`;

/**
 * A server that is full refuses every function that does not say it may run all the same. `start`, which commits what
 * starts work, does not say so. Those that read are not called reading ones: a primary that has been demoted would answer
 * them with what was.
 */
function registration(name: (typeof functions)[number]): string {
	const does = name === "start" ? "callback = commit" : `callback = ${name}, flags = { 'allow-oom' }`;
	return `function_name = '${functionName(name)}', ${does}`;
}

/**
 * What runs inside the server: one function that applies a batch and a few that read. It knows no rules; it compares
 * versions, unit by unit, and then does plain MSET, ZADD, ZREM and one HSET of events for the whole batch.
 *
 * What must stay true:
 * - Every key that is touched was declared to the call.
 * - A function is not rolled back: whatever could refuse a batch is looked at before the first write.
 * - Documents and events pass through as they came. Lua hashes every byte of every string it makes: reading a document
 *   of 1 KB into Lua costs 2 µs and putting a version in front of it 3 µs, more than storing it. So versions are kept
 *   beside the documents, and nothing is joined or cut unless a unit of the batch has lost.
 * - Scores and versions stay strings from the caller to the command: Lua would print large ones rounded.
 * - Scores are not asked for: the server prints them digit by digit, and every entry ends with its own.
 * - Strings are never ordered with `<`, which follows the server's locale.
 * - `redis`, `string` and `table` are touched inside functions only: they do not exist yet while the library loads.
 *
 * The layout of the keys is described in `partition-keys.ts`, that of a commit's arguments in `commit-call.ts`.
 */
export const LIBRARY = `#!lua name=flowfabric

local HEADER, LOG, STRETCHES, ORPHANED, DIRECTORY, WATCHED, TURNS, FIXED_KEYS = 1, 2, 3, 4, 5, 6, 7, 7
local SHAPE, CLOCK, HEARD, ENGINE, NUMBER, AT, VERSIONS, CHANNEL, OWN_CHANNEL, PARTITION, EVENTS, LENGTHS, FIXED_ARGS =
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12
local WIDTH, VERSION_FORM, ABSENT, LENGTH_WIDTH = 14, '%014d', '00000000000000', 10
local TOLERANCE_MS, TURN_MS, EVENT_LOG = 1000, 250, '${EVENT_LOG}'
local NEWS_RECORDS, NEWS_CHARS = ${MOST_NEWS.records}, ${MOST_NEWS.chars}
local LISTING = '${LISTING}'
-- Lua hands at most about 8000 values to a function.
local MOST = 4000
-- The log's commits are counted in stretches of so many; so many of them are looked through in one call.
local STRETCH, MOST_STRETCHES = 256, 16
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
${COMMIT_FUNCTION}
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

-- The log's entries of a stretch, from a commit on.
local function entriesIn(log, stretch, from)
	local wanted = {}
	for commit = math.max(from, stretch * STRETCH + 1), (stretch + 1) * STRETCH do wanted[#wanted + 1] = commit end
	return wanted, redis.call('HMGET', log, unpack(wanted))
end

-- Entries of the log from a commit on: those that tell of one owner, or all there are. Where much was trimmed there is
-- little to be found for long: the search is broken off and says where it goes on.
local function events(keys, args)
	local from, count, found, on, owner = tonumber(args[2]), tonumber(args[3]), {}, 0, keys[STRETCHES + 1]
	if owner then
		for item in string.gmatch(string.sub(redis.call('GET', owner) or '', WIDTH + 1), '[%d:]+') do
			local commit = string.match(item, '^%d+')
			if tonumber(commit) >= from and #found < 2 * count then
				found[#found + 1] = item
				found[#found + 1] = redis.call('HGET', keys[LOG], commit) or ''
			end
		end
	else
		local there = redis.call('ZRANGE', keys[STRETCHES], stretchOf(from), '+inf', 'BYSCORE', 'LIMIT', 0, MOST_STRETCHES)
		for n, stretch in ipairs(there) do
			local commits, texts = entriesIn(keys[LOG], tonumber(stretch), from)
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
	end
	return { tell(keys[HEADER], args[1]), found, on }
end

-- What is left of an entry of the log when some of its events go. Somebody else may have trimmed it meanwhile, or have
-- forgotten one of those whose events stay: then it is left for another time. KEYS ends with the versions of those, ARGV
-- with what their histories were.
local function trim(keys, args)
	local time, commit, text, left, done = tell(keys[HEADER], args[1]), args[2], args[3], args[4], args[5] == '1'
	if redis.call('HGET', keys[LOG], commit) ~= text then return { time, 0 } end
	for i = 6, #args do
		-- It only grows, until it is forgotten.
		local now = string.sub(redis.call('GET', keys[ORPHANED + i - 5]) or '', WIDTH + 1)
		if string.sub(now .. ' ', 1, #args[i] + 1) ~= args[i] .. ' ' then return { time, 0 } end
	end
	if done then redis.call('ZREM', keys[ORPHANED], commit) end
	if left ~= '' then
		if left ~= text then redis.call('HSET', keys[LOG], commit, left) end
		return { time, 1 }
	end
	redis.call('HDEL', keys[LOG], commit)
	local stretch = stretchOf(tonumber(commit))
	local _, texts = entriesIn(keys[LOG], stretch, 1)
	for i = 1, STRETCH do if texts[i] then return { time, 1 } end end
	redis.call('ZREM', keys[STRETCHES], stretch)
	-- The next commit that falls into it notes it again.
	if redis.call('HGET', keys[HEADER], 'stretch') == whole(stretch) then redis.call('HDEL', keys[HEADER], 'stretch') end
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

${functions.map((name) => `redis.register_function{ ${registration(name)} }`).join("\n")}
`;
