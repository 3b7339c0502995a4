import { randomBytes } from "node:crypto";
import { TRIM_STEP_MS } from "../duties/event-trimmer.ts";
import { type Cursors, cursorExpired } from "./cursor.ts";

/** How far a reader has come in one partition's log. */
export interface FeedPosition {
	commit: number;
	index: number;
	/** Everything behind this position happened at this time or later. */
	since: number;
	/** Events older than this may have been gone already when the position was taken. */
	trimmedBefore: number;
}

/** How far a reader has come. */
export interface FeedPlace {
	/**
	 * Random, and the same for all cursors that follow from one: a reader who is told nothing new gets the same cursor
	 * again, but two cursors at the end of the log do not tell whether anybody has written in between.
	 */
	salt: Buffer;
	/** Of each partition. */
	positions: readonly FeedPosition[];
}

/** Comes behind every event of its commit. */
export const LAST_INDEX = 2 ** 24;

/** Bytes of the fields: their length must not tell how large they are. Times are hours, the steps in which events go. */
const COMMIT = 6;
const INDEX = 4;
const HOURS = 3;
const POSITION = COMMIT + INDEX + 2 * HOURS;
const SALT = 8;

const listOf = (namespace: string): string => `feed of ${namespace}`;

export const placeAt = (positions: readonly FeedPosition[]): FeedPlace => ({ salt: randomBytes(SALT), positions });

export function encodeFeedCursor(cursors: Cursors, namespace: string, { salt, positions }: FeedPlace): Promise<string> {
	const content = Buffer.alloc(SALT + POSITION * positions.length);
	salt.copy(content);
	let at = SALT;
	for (const { commit, index, since, trimmedBefore } of positions) {
		at = content.writeUIntBE(commit, at, COMMIT);
		at = content.writeUIntBE(index, at, INDEX);
		at = content.writeUIntBE(Math.floor(since / TRIM_STEP_MS), at, HOURS);
		at = content.writeUIntBE(Math.floor(trimmedBefore / TRIM_STEP_MS), at, HOURS);
	}
	return cursors.seal(listOf(namespace), content);
}

/** A cursor of another store points into a log that is not this one. */
export async function decodeFeedCursor(
	cursors: Cursors,
	namespace: string,
	cursor: string,
	partitions: number,
): Promise<FeedPlace> {
	if (await cursors.isOfAnotherStore(cursor)) throw cursorExpired();
	const content = await cursors.open(listOf(namespace), cursor);
	if (content.length < SALT + POSITION * partitions) throw cursorExpired();
	const positions = Array.from({ length: partitions }, (_, partition) => {
		const at = SALT + POSITION * partition;
		const hoursAt = at + COMMIT + INDEX;
		return {
			commit: content.readUIntBE(at, COMMIT),
			index: content.readUIntBE(at + COMMIT, INDEX),
			since: content.readUIntBE(hoursAt, HOURS) * TRIM_STEP_MS,
			trimmedBefore: content.readUIntBE(hoursAt + HOURS, HOURS) * TRIM_STEP_MS,
		};
	});
	return { salt: content.subarray(0, SALT), positions };
}
