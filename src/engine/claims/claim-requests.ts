import { trustedSlot } from "../../kernel/ids.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { ClaimRequestRecord } from "../../kernel/records/claim-request.ts";
import type { Store, StoredRecord } from "../../store/port.ts";
import type { UuidMint } from "../mint.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import { corruptRecord } from "../partition/unreadable.ts";
import type { Claim, ClaimDispatcher } from "./claim-dispatcher.ts";
import type { RequestKind } from "./request-kinds.ts";

/** One claim for everybody who asks for it under the same request id while it runs. */
interface Joint<T> {
	answer: Promise<T[]>;
	callers: number;
	controller: AbortController;
}

export interface ClaimRequestsOptions<T> {
	runners: readonly PartitionRunner[];
	dispatcher: ClaimDispatcher;
	kernel: Kernel;
	mint: UuidMint;
	kind: RequestKind<T>;
}

/**
 * Claims, or grants, with a request id. What one takes is remembered in the partition it was taken from, in the same step;
 * a repeat finds that and is given what is still held of it. A partition never gives to two calls of one request; two
 * engines asked at the same time may each take from another partition, and both answer with all of it.
 */
export class ClaimRequests<T> {
	readonly #options: ClaimRequestsOptions<T>;
	readonly #runners: readonly PartitionRunner[];
	readonly #underWay = new Map<string, Joint<T>>();

	constructor(options: ClaimRequestsOptions<T>) {
		this.#options = options;
		this.#runners = options.runners;
	}

	/** A first call under its id has nothing to find; that spares a look at every partition. */
	async claim(claim: Claim, requestId: string, signal: AbortSignal | undefined, isFirst: boolean): Promise<T[]> {
		const key = this.#options.kind.keyOf(claim.namespace, claim.instanceId, requestId);
		const known = isFirst ? undefined : await this.#recall(key, claim);
		if (known) return known;
		if (signal?.aborted) return [];
		const joint = this.#underWay.get(key) ?? this.#begin(key, claim, isFirst);
		joint.callers += 1;
		return signal ? this.#leaveOn(signal, key, joint) : joint.answer;
	}

	#begin(key: string, claim: Claim, isFirst: boolean): Joint<T> {
		const controller = new AbortController();
		const joint: Joint<T> = { answer: Promise.resolve([]), callers: 0, controller };
		joint.answer = this.#take(key, claim, joint, isFirst);
		this.#underWay.set(key, joint);
		return joint;
	}

	#end(key: string, joint: Joint<T>): void {
		if (this.#underWay.get(key) === joint) this.#underWay.delete(key);
	}

	/** A caller who leaves gets nothing while others wait; the last one ends the claim and is told what it took. */
	#leaveOn(signal: AbortSignal, key: string, joint: Joint<T>): Promise<T[]> {
		return new Promise((resolve, reject) => {
			const leave = () => {
				joint.callers -= 1;
				if (joint.callers > 0) return resolve([]);
				this.#end(key, joint);
				joint.controller.abort();
			};
			signal.addEventListener("abort", leave, { once: true });
			joint.answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
		});
	}

	/**
	 * Looks once more before it answers, since another engine may have taken from other partitions meanwhile; not for a
	 * first call, whose caller has gone if there is a second. Whoever comes from then on does not join: what they must be told may be younger than that look.
	 */
	async #take(key: string, claim: Claim, joint: Joint<T>, isFirst: boolean): Promise<T[]> {
		const { dispatcher, mint, kind } = this.#options;
		const request = { key, call: mint.next(), repeated: false };
		let taken: T[];
		try {
			taken = (await dispatcher.claim({ ...claim, request }, joint.controller.signal)).map(kind.told);
		} finally {
			this.#end(key, joint);
		}
		const isAll = isFirst || (taken.length > 0 && this.#runners.length === 1);
		if (isAll && !request.repeated) return taken;
		try {
			return (await this.#recall(key, claim)) ?? taken;
		} catch (error) {
			// What was taken must be told, or nobody would know of those leases.
			if (taken.length > 0) return taken;
			throw error;
		}
	}

	/** What is still held of what the request took; undefined if it took nothing, or too long ago. */
	async #recall(key: string, claim: Claim): Promise<T[] | undefined> {
		const found = await Promise.all(
			this.#runners.map(async (runner) => {
				const { time, records } = await this.#read(runner, [key]);
				const known = records.get(key) as ClaimRequestRecord | undefined;
				// By the store's own time: an engine may take it to be later than it is, and deny what is still held.
				return known && known.expiresAt > time ? known.leases : [];
			}),
		);
		const taken = found.flat();
		if (taken.length === 0) return undefined;
		const { kind } = this.#options;
		const held = await Promise.all(
			this.#runners.map(async (runner, partition) => {
				const here = taken.filter(([id]) => trustedSlot(id) % this.#runners.length === partition);
				if (here.length === 0) return [];
				const { records } = await this.#read(runner, here.flatMap(kind.keysOf));
				return here.flatMap(([id, heldBy]) => kind.found(id, heldBy, records) ?? []);
			}),
		);
		return held
			.flat()
			.sort((a, b) => kind.compare(claim, a, b))
			.map(({ told }) => told);
	}

	/** The records there are, from the store: what an engine remembers may be old. */
	async #read(runner: PartitionRunner, keys: string[]): Promise<{ time: number; records: Map<string, object> }> {
		const question = (store: Store, partition: number) => store.read(partition, keys);
		const { time, records } = await runner.ask(question, PARTITION_PATIENCE_MS);
		const there = records.filter(({ version }) => version > 0);
		return { time, records: new Map(there.map((stored) => [stored.key, this.#decode(stored)])) };
	}

	#decode({ key, doc }: StoredRecord): object {
		try {
			return this.#options.kernel.decode(key, doc);
		} catch (error) {
			throw corruptRecord(key, error);
		}
	}
}
