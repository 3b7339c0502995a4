import type { EventEntry, LoggedEvent, LogPosition } from "../port.ts";
import { fromText, toText } from "./text.ts";

/** What stands in place of an event that was trimmed, so that those behind it keep their numbers. */
const TRIMMED = "x";

/** Events stand one behind the other, lengths in front: bodies are never quoted or searched. */
export function eventText(event: EventEntry): string {
	const [owner, body] = [toText(event.owner), toText(event.body)];
	return `${event.at} ${owner.length} ${body.length} ${owner}${body}`;
}

/** The events of one commit, each with the text it was read from. */
function* eventsIn(commit: number, text: string): Generator<{ text: string; event?: LoggedEvent }> {
	for (let from = 0, index = 0; from < text.length; index++) {
		if (text.startsWith(TRIMMED, from)) {
			from += TRIMMED.length;
			yield { text: TRIMMED };
			continue;
		}
		const [at, ownerLength, bodyLength] = text.slice(from, from + 64).split(" ", 3) as [string, string, string];
		const ownerFrom = from + at.length + ownerLength.length + bodyLength.length + 3;
		const bodyFrom = ownerFrom + Number(ownerLength);
		const end = bodyFrom + Number(bodyLength);
		const owner = fromText(text.slice(ownerFrom, bodyFrom));
		const event = { owner, at: Number(at), body: fromText(text.slice(bodyFrom, end)), commit, index };
		yield { text: text.slice(from, end), event };
		from = end;
	}
}

/** Where an entry begins: a commit and, when its owner was forgotten in that same commit, the first event since. */
function startOf(item: string): LogPosition {
	const [commit, index = "0"] = item.split(":");
	return { commit: Number(commit), index: Number(index) };
}

/** Events from entries as the server gives them: where each begins, and its text, in turn. */
export function decodeEvents(entries: readonly string[]): LoggedEvent[] {
	const events: LoggedEvent[] = [];
	for (let n = 0; n < entries.length; n += 2) {
		const { commit, index } = startOf(entries[n] ?? "");
		for (const { event } of eventsIn(commit, entries[n + 1] ?? ""))
			if (event && event.index >= index) events.push(event);
	}
	return events;
}

/** Which events are still part of their owner's history; `history` is what the server keeps of one. */
function isTold(history: string, event: LogPosition): boolean {
	return history.split(" ").some((item) => {
		const start = startOf(item);
		return item !== "" && start.commit === event.commit && start.index <= event.index;
	});
}

/** What trimming does to an entry. */
export interface Trim {
	/** The entry without the events that go; empty when nothing is left of it. */
	left: string;
	trimmed: number;
	/** Whether an event has an owner that was forgotten, but is too young to go. */
	waits: boolean;
	/** Whose events stay because they are part of a history. */
	kept: Set<string>;
}

/** Trims events from before a time whose owners were forgotten; `histories` is what the server keeps of each owner. */
export function trimEntry(commit: number, text: string, histories: ReadonlyMap<string, string>, before: number): Trim {
	const trim: Trim = { left: "", trimmed: 0, waits: false, kept: new Set() };
	for (const { text: own, event } of eventsIn(commit, text)) {
		const told = event !== undefined && isTold(histories.get(event.owner) ?? "", event);
		const goes = event !== undefined && !told && event.at < before;
		if (told) trim.kept.add(event.owner);
		else if (goes) trim.trimmed += 1;
		else if (event) trim.waits = true;
		trim.left += goes ? TRIMMED : own;
	}
	if (/^x*$/.test(trim.left)) trim.left = "";
	return trim;
}

export const isBehind = (event: LoggedEvent, after: LogPosition | undefined): boolean =>
	!after || event.commit > after.commit || (event.commit === after.commit && event.index > after.index);
