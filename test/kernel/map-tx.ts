import type { AnyEvent, EmittedEvent } from "../../src/kernel/events.ts";
import { type CommandOf, kernel, type Op, type OutcomeOf } from "../../src/kernel/kernel.ts";
import type { Blob } from "../../src/kernel/payload.ts";
import { encode } from "../../src/kernel/record-types.ts";
import type { Key } from "../../src/kernel/records/record.ts";
import type { Entry, Tx } from "../../src/kernel/tx.ts";

/** A partition in two maps: what rules need of a store, and nothing that could go wrong beside them. */
export class MapPartition {
	/** Documents as a store would keep them, so that every record goes through JSON. */
	readonly docs = new Map<string, string>();
	readonly blobs = new Set<string>();
	/** Which slots live here; all of them unless told otherwise. */
	isHere: (slot: number) => boolean = () => true;
	readonly events: AnyEvent[] = [];

	/** Runs a command; what it wrote is kept if it was accepted. */
	run<O extends Op>(command: CommandOf<O> & { op: O }, now: number): OutcomeOf<O> {
		const tx = new MapTx(this);
		const rule = kernel.rules[command.op] as (tx: Tx, command: unknown, now: number) => OutcomeOf<O>;
		const outcome = rule(tx, command, now);
		if (outcome.ok) tx.apply();
		else if (tx.wrote) throw new Error(`${command.op} refused with ${outcome.code} but had written`);
		return outcome;
	}

	read<R extends object>(key: Key<R>): R | undefined {
		const doc = this.docs.get(key);
		return doc === undefined ? undefined : (kernel.decode(key, doc) as R);
	}

	/** A queue, worked out from the records. */
	queue(name: string): Entry[] {
		return [...this.docs.keys()]
			.flatMap((key) => kernel.placement(key, this.read(key) ?? {}).map((place) => ({ ...place, key })))
			.filter(({ queue }) => queue === name)
			.map(({ key, score }) => ({ key, score }))
			.sort((a, b) => a.score - b.score || (a.key < b.key ? -1 : 1));
	}
}

class MapTx implements Tx {
	readonly #partition: MapPartition;
	readonly #writes = new Map<string, object | undefined>();
	readonly #events: AnyEvent[] = [];
	readonly #blobs: Blob[] = [];
	readonly #blobsRemoved: string[] = [];

	constructor(partition: MapPartition) {
		this.#partition = partition;
	}

	isHere(slot: number): boolean {
		return this.#partition.isHere(slot);
	}

	get wrote(): boolean {
		return this.#writes.size > 0 || this.#events.length > 0;
	}

	apply(): void {
		const { docs, blobs, events } = this.#partition;
		for (const [key, record] of this.#writes) {
			if (record) docs.set(key, encode(key, record));
			else docs.delete(key);
		}
		for (const { key } of this.#blobs) blobs.add(key);
		for (const key of this.#blobsRemoved) blobs.delete(key);
		events.push(...this.#events);
	}

	get<R extends object>(key: Key<R>): R | undefined {
		return this.#writes.has(key) ? (this.#writes.get(key) as R | undefined) : this.#partition.read(key);
	}

	getReadable<R extends object>(key: Key<R>): R | undefined {
		return this.get(key);
	}

	getFresh<R extends object>(key: Key<R>): R | undefined {
		return this.get(key);
	}

	isUnreadable(): boolean {
		return false;
	}

	expect(): void {}

	expectFirst(): void {}

	put<R extends object>(key: Key<R>, record: R): void {
		this.#writes.set(key, record);
	}

	remove(key: string): void {
		this.#writes.set(key, undefined);
	}

	first(queue: string, count: number): readonly Entry[] {
		return this.#partition.queue(queue).slice(0, count);
	}

	all(queue: string): readonly Entry[] {
		return this.#partition.queue(queue);
	}

	emit({ body, ...event }: EmittedEvent): void {
		this.#events.push({ ...body, ...event } as AnyEvent);
	}

	forget(): void {}

	putBlob(blob: Blob): void {
		this.#blobs.push(blob);
	}

	removeBlob(key: string): void {
		this.#blobsRemoved.push(key);
	}
}
