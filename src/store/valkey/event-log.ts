import type { EventEntry, LoggedEvent, LogPosition } from "../port.ts";
import type { RespBuffer } from "./resp-buffer.ts";
import { fromText, toText } from "./text.ts";

/** What stands in place of an event that was trimmed, so that those behind it keep their numbers. */
const TRIMMED = "x";
const SPACE = 32;

/** Events stand one behind the other, lengths in front: bodies are never quoted or searched. */
export function writeEvent(into: RespBuffer, event: EventEntry): void {
	const owner = toText(event.owner);
	const body = toText(event.body);
	into.digits(event.at);
	into.byte(SPACE);
	into.digits(owner.length);
	into.byte(SPACE);
	into.digits(body.length);
	into.byte(SPACE);
	into.text(owner);
	into.text(body);
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
export function isTold(history: string, event: LogPosition): boolean {
	return history.split(" ").some((item) => {
		const start = startOf(item);
		return item !== "" && start.commit === event.commit && start.index <= event.index;
	});
}

/** An entry without some of its events; empty when nothing is left of it. */
export function withoutEvents(commit: number, text: string, goes: (event: LoggedEvent) => boolean) {
	let left = "";
	let trimmed = 0;
	for (const one of eventsIn(commit, text)) {
		const gone = one.event !== undefined && goes(one.event);
		if (gone) trimmed += 1;
		left += gone ? TRIMMED : one.text;
	}
	return { text: /^x*$/.test(left) ? "" : left, trimmed };
}

export const isBehind = (event: LoggedEvent, after: LogPosition | undefined): boolean =>
	!after || event.commit > after.commit || (event.commit === after.commit && event.index > after.index);
