import type { EventEntry, LoggedEvent, LogPosition } from "../port.ts";
import { fromText, toText } from "./text.ts";

/** Events stand one behind the other, lengths in front: bodies are never quoted or searched. */
export function eventText({ owner, group = "", at, body }: EventEntry, index: number): string {
	const [own, grouped, text] = [toText(owner), group && toText(group), toText(body)];
	return `${index} ${at} ${own.length} ${grouped.length} ${text.length} ${own}${grouped}${text}`;
}

const FRONT = /(\d+) (\d+) (\d+) (\d+) (\d+) /y;

/**
 * The events of one entry of a log, each with the text it was read from. What cannot be taken apart is an event of nobody
 * without a body: whoever reads the log tells of it and gets past it, and it stays where it is.
 */
function* eventsIn(log: string, commit: number, text: string): Generator<{ text: string; event: LoggedEvent }> {
	for (let from = 0, next = 0; from < text.length; ) {
		FRONT.lastIndex = from;
		const [front = "", index, at, ownerLength, groupLength, bodyLength] = FRONT.exec(text) ?? [];
		const groupFrom = from + front.length + Number(ownerLength);
		const bodyFrom = groupFrom + Number(groupLength);
		const end = bodyFrom + Number(bodyLength);
		if (front === "" || end > text.length) {
			yield { text: text.slice(from), event: { log, owner: "", at: 0, body: "", commit, index: next } };
			return;
		}
		next = Number(index) + 1;
		const event: LoggedEvent = {
			log,
			owner: fromText(text.slice(from + front.length, groupFrom)),
			at: Number(at),
			body: fromText(text.slice(bodyFrom, end)),
			commit,
			index: Number(index),
		};
		if (bodyFrom > groupFrom) event.group = fromText(text.slice(groupFrom, bodyFrom));
		yield { text: text.slice(from, end), event };
		from = end;
	}
}

/** Where an entry of a history begins: a commit and, if the owner had been forgotten in it before, the first event since. */
function startOf(item: string): LogPosition {
	const [commit, index = "0"] = item.split(":");
	return { commit: Number(commit), index: Number(index) };
}

/** Events from entries as the server gives them: where each begins, and its text, in turn. */
export function decodeEvents(log: string, entries: readonly string[]): LoggedEvent[] {
	const events: LoggedEvent[] = [];
	for (let n = 0; n < entries.length; n += 2) {
		const { commit, index } = startOf(entries[n] ?? "");
		for (const { event } of eventsIn(log, commit, entries[n + 1] ?? "")) if (event.index >= index) events.push(event);
	}
	return events;
}

export const isBehind = (event: LogPosition, after: LogPosition | undefined): boolean =>
	!after || event.commit > after.commit || (event.commit === after.commit && event.index > after.index);

export const concerns = (event: LoggedEvent, owner: string | undefined): boolean =>
	owner === undefined || event.owner === owner || event.group === owner;

/** A history that is over, or a chunk of one. */
export interface ForgottenHistory {
	/** As the server keeps it. */
	member: string;
	log: string;
	owner: string;
	/** Where its entries begin. */
	starts: readonly LogPosition[];
	/** Where it ended: what stands in that commit from there on is no part of it. */
	end: LogPosition;
}

export function parseForgotten(member: string): ForgottenHistory {
	const [items = "", ending = "", log = "", ...rest] = member.split("\0");
	const starts = items.split(" ").filter(Boolean).map(startOf);
	return { member, log: fromText(log), owner: fromText(rest.join("\0")), starts, end: startOf(ending) };
}

function isOf({ owner, starts, end }: ForgottenHistory, event: LoggedEvent): boolean {
	if (event.owner !== owner || (event.commit === end.commit && event.index >= end.index)) return false;
	return starts.some(({ commit, index }) => commit === event.commit && index <= event.index);
}

/** What trimming does to an entry. */
export interface Trim {
	/** The entry without the events that go; empty when nothing is left of it. */
	left: string;
	trimmed: number;
	/** Histories with events in it that are too young to go. */
	waiting: ReadonlySet<ForgottenHistory>;
}

/** Takes out of an entry what histories that are over told before a time. */
export function trimEntry(
	log: string,
	commit: number,
	text: string,
	histories: readonly ForgottenHistory[],
	before: number,
): Trim {
	const waiting = new Set<ForgottenHistory>();
	let left = "";
	let trimmed = 0;
	for (const { text: own, event } of eventsIn(log, commit, text)) {
		const history = histories.find((one) => isOf(one, event));
		if (history && event.at < before) trimmed += 1;
		else {
			left += own;
			if (history) waiting.add(history);
		}
	}
	return { left, trimmed, waiting };
}
