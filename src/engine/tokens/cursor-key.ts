import { randomBytes } from "node:crypto";
import type { Clock } from "../../contract/clock.ts";
import { refusalError } from "../../contract/errors.ts";
import { CURSOR_KEY } from "../../kernel/records/cursor-key.ts";
import type { FaultClass } from "../fault-log.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { CursorSeal } from "../reading/cursor-seal.ts";

export interface CursorKeyOptions {
	/** The runner of the partition the key lives in. */
	runner: PartitionRunner;
	clock: Clock;
	/** Random hex digits, given by the simulator. */
	randomHex?: ((bytes: number) => string) | undefined;
	/** Says something to the other engines on the store. */
	say(text: string): void;
	onFault(about: FaultClass, error?: unknown, subject?: string): void;
}

const SECRET_BYTES = 32;
/** Whoever hears it reads the key anew. */
const CHANGED = "cursor key changed";
/** How often cursors of another store may make this engine read: whoever invents some gains nothing by it. */
const STRANGER_MS = 1000;

/**
 * The key of the store's cursors as this engine knows it: one for all engines, so that each reads what any of them gave
 * out. It changes only when it was lost, and another engine made a new one.
 */
export class CursorKey {
	readonly #options: CursorKeyOptions;
	#seal: CursorSeal | undefined;
	#reading: Promise<CursorSeal> | undefined;
	/** When a cursor of another store last made this engine read. */
	#strangerAt = Number.NEGATIVE_INFINITY;

	constructor(options: CursorKeyOptions) {
		this.#options = options;
	}

	/** Sees to it that there is a key. An engine that cannot starts all the same, and tries again when it is needed. */
	async start(): Promise<void> {
		try {
			await this.current();
		} catch (error) {
			this.#options.onFault("the key of cursors could not be read", error);
		}
	}

	async current(): Promise<CursorSeal> {
		if (this.#seal) return this.#seal;
		this.#reading ??= this.#read().finally(() => {
			this.#reading = undefined;
		});
		return this.#reading;
	}

	/** The key that a cursor may be of: one that is not of this store's key as it is known makes the engine look again. */
	async keyOf(cursor: string): Promise<CursorSeal> {
		const known = await this.current();
		const now = this.#options.clock.monotonic();
		if (cursor.startsWith(known.tag) || now - this.#strangerAt < STRANGER_MS) return known;
		this.#strangerAt = now;
		this.#seal = undefined;
		return this.current();
	}

	/** Another engine, or this one, said something. */
	hear(text: string): void {
		if (text === CHANGED) this.#seal = undefined;
	}

	async #read(): Promise<CursorSeal> {
		const { runner, randomHex, say, onFault } = this.#options;
		const secretHex = randomHex?.(SECRET_BYTES) ?? randomBytes(SECRET_BYTES).toString("hex");
		const outcome = await runner.run({ op: "installCursorKey", secretHex });
		if (!outcome.ok) throw refusalError(outcome);
		if (outcome.did === "repaired")
			onFault("the key of cursors could not be used and was replaced; earlier cursors are lost", undefined, CURSOR_KEY);
		if (outcome.did !== "kept") say(CHANGED);
		this.#seal = new CursorSeal(outcome.secretHex);
		return this.#seal;
	}
}
