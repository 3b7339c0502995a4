import { setTimeout as wait } from "node:timers/promises";
import { type Batch, type CommitReply, type Store, StoreError, type Unit } from "../port.ts";
import { ImportError } from "./line.ts";

const MAX_BATCH_CHARS = 1024 * 1024;
const MAX_TRIES = 6;
const RETRY_MS = 50;

interface Waiting {
	units: Unit[];
	lines: number[];
	chars: number;
}

/** Gathers units per partition and commits them in order, a bounded lot at a time. */
export class UnitSender {
	readonly #store: Store;
	readonly #engine: string;
	readonly #waiting: Waiting[];
	#number = 0;

	constructor(store: Store, engine: string) {
		this.#store = store;
		this.#engine = engine;
		this.#waiting = Array.from({ length: store.partitions }, () => ({ units: [], lines: [], chars: 0 }));
	}

	/** `line` is where the unit came from, for the error if it cannot be applied. */
	async add(partition: number, unit: Unit, line: number): Promise<void> {
		const waiting = this.#waiting[partition] as Waiting;
		waiting.units.push(unit);
		waiting.lines.push(line);
		waiting.chars += sizeOf(unit);
		if (waiting.units.length >= this.#store.writesPerBatch || waiting.chars >= MAX_BATCH_CHARS)
			await this.#send(partition);
	}

	async flush(): Promise<void> {
		for (let partition = 0; partition < this.#waiting.length; partition++) await this.#send(partition);
	}

	async #send(partition: number): Promise<void> {
		const { units, lines } = this.#waiting[partition] as Waiting;
		if (units.length === 0) return;
		this.#waiting[partition] = { units: [], lines: [], chars: 0 };
		const { results } = await this.#commit(partition, units);
		results.forEach((result, n) => {
			if (result.ok) return;
			throw new ImportError(
				`${units[n]?.expected[0]?.[0]} came before, or somebody else writes to the store`,
				lines[n],
			);
		});
	}

	async #commit(partition: number, units: Unit[]): Promise<CommitReply> {
		for (let tries = 1; ; tries++) {
			const { time } = await this.#store.read(partition, []);
			this.#number += 1;
			const reply = await this.#sendUntilAnswered(partition, {
				engine: this.#engine,
				number: this.#number,
				at: time,
				units,
			});
			// Empty when the answer to the read was too old by the time the batch arrived.
			if (reply.results.length > 0) return reply;
			if (tries === MAX_TRIES) throw new ImportError("the store's clock moves too fast to write to it");
		}
	}

	/** The same batch again is safe: the store knows whether it was applied. */
	async #sendUntilAnswered(partition: number, batch: Batch): Promise<CommitReply> {
		for (let tries = 1; ; tries++) {
			try {
				return await this.#store.commit(partition, batch);
			} catch (error) {
				if (!(error instanceof StoreError) || tries === MAX_TRIES) throw error;
				await wait(RETRY_MS * 2 ** tries);
			}
		}
	}
}

function sizeOf(unit: Unit): number {
	let size = 0;
	for (const { doc } of unit.put) size += doc.length;
	for (const { bytes } of unit.blobs) size += bytes.byteLength;
	for (const { body } of unit.events) size += body.length;
	return size;
}
