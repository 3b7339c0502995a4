import type { News, Notice } from "../port.ts";
import { positionOf } from "./queue-entry.ts";
import { fromText } from "./text.ts";

/**
 * What `commit` publishes: the names of queues it filled and of watched records it changed; then, if it wrote little, for
 * each of those queues how many entries it has and these, and every record written that stands in one as its key and document.
 */
type Message = [
	partition: string,
	time: string,
	due: string,
	commit: string,
	filled: number,
	changed: number,
	...rest: (string | number)[],
];

/**
 * A notice as its listener is to hear it: what others watch is left out. Undefined when it cannot be read: anybody may
 * publish anything, and who listens must not end over it.
 */
export function readNotice(
	message: string,
	partitions: number,
	isWatched: (partition: number, key: string) => boolean,
): Notice | undefined {
	try {
		const notice = parseNotice(message, isWatched);
		const { partition, time, due = 0 } = notice;
		const isSound = Number.isInteger(partition) && Number.isFinite(time) && Number.isFinite(due);
		return isSound && partition >= 0 && partition < partitions ? notice : undefined;
	} catch {
		return undefined;
	}
}

function parseNotice(message: string, isWatched: (partition: number, key: string) => boolean): Notice {
	const [partition, time, due, commit, filled, changed, ...rest] = JSON.parse(message) as Message;
	const at = Number(partition);
	const names = rest.slice(0, filled + changed).map((name) => fromText(name as string));
	const queues = names.slice(0, filled);
	const notice: Notice = {
		partition: at,
		time: Number(time),
		queues,
		changed: names.slice(filled).filter((key) => isWatched(at, key)),
	};
	if (due !== "") notice.due = Number(due);
	if (rest.length > names.length) notice.news = readNews(Number(commit), queues, rest, names.length);
	return notice;
}

function readNews(commit: number, queues: readonly string[], rest: Message[number][], from: number): News {
	const news: News = { commit, entries: [], records: [] };
	let next = from;
	for (const queue of queues) {
		const end = next + 1 + (rest[next] as number);
		for (next += 1; next < end; next++) news.entries.push({ queue, ...positionOf(rest[next] as string) });
	}
	for (; next < rest.length; next += 2)
		news.records.push({ key: fromText(rest[next] as string), doc: fromText(rest[next + 1] as string) });
	return news;
}
