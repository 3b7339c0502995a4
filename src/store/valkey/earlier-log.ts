import { placeOfEarlierEvent } from "../earlier-events.ts";
import type { EventEntry } from "../port.ts";
import { VERSION_WIDTH } from "./commit-call.ts";
import { eventText } from "./event-log.ts";
import type { Call } from "./node.ts";
import type { PartitionKeys } from "./partition-keys.ts";
import { fromText, toText } from "./text.ts";

/** Commits that share a mark in a log's stretches; as in `functions.lua`. */
const STRETCH = 256;
const PAGE = "200";

type Ask = <T>(call: Call) => Promise<T>;

/**
 * Moves the one log that a partition had before format 4 into a log per namespace. It may be killed at any point and begun
 * again, and several may do it at once: all write the same, and the old log goes last.
 */
export async function moveEarlierLog(keys: PartitionKeys, ask: Ask): Promise<void> {
	const tag = keys.header.slice(0, -1);
	const earlier = { log: `${tag}l`, stretches: `${tag}s`, orphaned: `${tag}o` };
	let cursor = "0";
	do {
		const [next, entries] = await ask<[string, string[]]>(["HSCAN", earlier.log, cursor, "COUNT", PAGE]);
		for (let n = 0; n < entries.length; n += 2) await moveEntry(keys, ask, entries[n] ?? "", entries[n + 1] ?? "");
		cursor = next;
	} while (cursor !== "0");
	await ask(["DEL", earlier.log, earlier.stretches, earlier.orphaned]);
}

async function moveEntry(keys: PartitionKeys, ask: Ask, commit: string, text: string): Promise<void> {
	const events = [...earlierEventsIn(text)];
	const texts = new Map<string, string>();
	for (const { index, event } of events) texts.set(event.log, (texts.get(event.log) ?? "") + eventText(event, index));
	for (const [log, moved] of texts) {
		const stretch = String(Math.floor((Number(commit) - 1) / STRETCH));
		await ask(["HSET", keys.log(log), commit, moved]);
		await ask(["ZADD", keys.stretches(log), stretch, stretch]);
		await ask(["ZADD", keys.logs, "0", toText(log)]);
	}
	await noteForgotten(keys, ask, commit, events);
}

/** Whose history does not name the commit was forgotten. */
async function noteForgotten(
	keys: PartitionKeys,
	ask: Ask,
	commit: string,
	events: readonly { index: number; event: EventEntry }[],
): Promise<void> {
	const owners = [...new Map(events.map(({ event }) => [event.owner, event.log]))];
	if (owners.length === 0) return;
	const versions = await ask<(string | null)[]>(["MGET", ...owners.map(([owner]) => keys.version(owner))]);
	for (const [n, [owner, log]] of owners.entries()) {
		const history = (versions[n] ?? "").slice(VERSION_WIDTH).split(" ");
		const start = history.find((item) => item.split(":")[0] === commit);
		if (start === commit) continue;
		const end = start?.split(":")[1] ?? String(Number.MAX_SAFE_INTEGER);
		await ask(["ZADD", keys.forgotten, commit, ` ${commit}\0${commit}:${end}\0${toText(log)}\0${toText(owner)}`]);
	}
}

/** What stood in place of an event that was trimmed. */
const TRIMMED = "x";

function* earlierEventsIn(text: string): Generator<{ index: number; event: EventEntry }> {
	for (let from = 0, index = 0; from < text.length; index++) {
		if (text.startsWith(TRIMMED, from)) {
			from += TRIMMED.length;
			continue;
		}
		const [at = "", ownerLength = "", bodyLength = ""] = text.slice(from, from + 64).split(" ", 3);
		const ownerFrom = from + at.length + ownerLength.length + bodyLength.length + 3;
		const bodyFrom = ownerFrom + Number(ownerLength);
		from = bodyFrom + Number(bodyLength);
		const body = fromText(text.slice(bodyFrom, from));
		const owner = fromText(text.slice(ownerFrom, bodyFrom));
		yield { index, event: { ...placeOfEarlierEvent(body), owner, at: Number(at), body } };
	}
}
