import { FlowFabricError } from "../../contract/errors.ts";
import type { LogPosition, QueuePosition } from "../../store/port.ts";
import type { CursorKey } from "../tokens/cursor-key.ts";
import { isSealed } from "./cursor-seal.ts";

/** What a part of a cursor may be; a position is a number of things passed. */
const isForm = {
	string: (part: unknown) => typeof part === "string",
	number: (part: unknown) => Number.isSafeInteger(part),
	position: (part: unknown) => Number.isSafeInteger(part) && (part as number) >= 0,
};

/**
 * Cursors are opaque to callers: encrypted with a key of the store. `list` names what a cursor points into, for instance
 * `lanes of <namespace>`; it is taken there and nowhere else, so one that another tenant was given leads to nothing.
 */
export class Cursors {
	readonly #key: CursorKey;

	constructor(key: CursorKey) {
		this.#key = key;
	}

	async seal(list: string, content: Buffer): Promise<string> {
		return (await this.#key.current()).seal(list, content);
	}

	/** What was sealed, perhaps with blanks behind it. */
	async open(list: string, cursor: string): Promise<Buffer> {
		const content = isSealed(cursor) ? (await this.#key.keyOf(cursor)).open(list, cursor) : undefined;
		if (!content) throw invalidCursor();
		return content;
	}

	/** Whether it has the form of a cursor, but one that this store did not make. */
	async isOfAnotherStore(cursor: string): Promise<boolean> {
		return isSealed(cursor) && !cursor.startsWith((await this.#key.keyOf(cursor)).tag);
	}

	encode(list: string, parts: readonly (string | number)[]): Promise<string> {
		return this.seal(list, Buffer.from(JSON.stringify(parts)));
	}

	async decode(list: string, cursor: string, forms: readonly (keyof typeof isForm)[]): Promise<(string | number)[]> {
		const parts = JSON.parse((await this.open(list, cursor)).toString()) as (string | number)[];
		// Only a cursor of another version of this program is sealed with other parts.
		if (parts.length === forms.length && forms.every((form, n) => isForm[form](parts[n]))) return parts;
		throw invalidCursor();
	}

	/** The cursor of a list that follows a queue. */
	at(list: string, { score, key }: QueuePosition): Promise<string> {
		return this.encode(list, [score, key]);
	}

	async after(list: string, cursor: string | undefined): Promise<QueuePosition | undefined> {
		if (cursor === undefined) return undefined;
		const [score, key] = await this.decode(list, cursor, ["number", "string"]);
		return { score: Number(score), key: String(key) };
	}

	/** The cursor behind an event in the history of one execution or flow, or before the first. */
	atEvent(list: string, position: LogPosition | undefined): Promise<string> {
		return this.encode(list, [position?.commit ?? 0, position?.index ?? 0]);
	}

	/** Logs of two stores number their events differently, so a cursor never leads from one into the other. */
	async afterEvent(list: string, cursor: string | undefined): Promise<LogPosition | undefined> {
		if (cursor === undefined) return undefined;
		if (await this.isOfAnotherStore(cursor)) throw cursorExpired();
		const [commit, index] = await this.decode(list, cursor, ["position", "position"]);
		return { commit: Number(commit), index: Number(index) };
	}
}

export const cursorExpired = (): FlowFabricError => new FlowFabricError("cursor_expired");

const invalidCursor = (): FlowFabricError =>
	new FlowFabricError("invalid_input", {
		message: "cursor: must be a nextCursor of an earlier page of the same list",
		details: { field: "cursor" },
	});
