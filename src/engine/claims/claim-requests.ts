import { trustedSlot } from "../../kernel/ids.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { queueScore } from "../../kernel/placement.ts";
import { type ClaimRequestRecord, claimRequestKey } from "../../kernel/records/claim-request.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import type { Store, StoredRecord } from "../../store/port.ts";
import type { UuidMint } from "../mint.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import { corruptRecord } from "../partition/unreadable.ts";
import type { Claim, ClaimDispatcher } from "./claim-dispatcher.ts";

/** One claim for everybody who asks for it under the same request id while it runs. */
interface Joint {
	answer: Promise<ExecutionRecord[]>;
	callers: number;
	controller: AbortController;
}

/**
 * Claims with a request id. What such a claim takes is remembered in the partition it was taken from, in the same step;
 * a repeat finds that and is given what is still held of it. A partition never gives to two calls of one request; two
 * engines asked at the same time may each take from another partition, and both answer with all of it.
 */
export class ClaimRequests {
	readonly #runners: readonly PartitionRunner[];
	readonly #dispatcher: ClaimDispatcher;
	readonly #kernel: Kernel;
	readonly #mint: UuidMint;
	readonly #underWay = new Map<string, Joint>();

	constructor(runners: readonly PartitionRunner[], dispatcher: ClaimDispatcher, kernel: Kernel, mint: UuidMint) {
		this.#runners = runners;
		this.#dispatcher = dispatcher;
		this.#kernel = kernel;
		this.#mint = mint;
	}

	/** A first call under its id has nothing to find; that spares a look at every partition. */
	async claim(
		claim: Claim,
		requestId: string,
		signal: AbortSignal | undefined,
		isFirst: boolean,
	): Promise<ExecutionRecord[]> {
		const key = claimRequestKey(claim.namespace, claim.instanceId, requestId);
		const known = isFirst ? undefined : await this.#recall(key, claim);
		if (known) return known;
		if (signal?.aborted) return [];
		const joint = this.#underWay.get(key) ?? this.#begin(key, claim, isFirst);
		joint.callers += 1;
		return signal ? this.#leaveOn(signal, key, joint) : joint.answer;
	}

	#begin(key: string, claim: Claim, isFirst: boolean): Joint {
		const controller = new AbortController();
		const joint: Joint = { answer: Promise.resolve([]), callers: 0, controller };
		joint.answer = this.#take(key, claim, joint, isFirst);
		this.#underWay.set(key, joint);
		return joint;
	}

	#end(key: string, joint: Joint): void {
		if (this.#underWay.get(key) === joint) this.#underWay.delete(key);
	}

	/** A caller who leaves gets nothing while others wait; the last one ends the claim and is told what it took. */
	#leaveOn(signal: AbortSignal, key: string, joint: Joint): Promise<ExecutionRecord[]> {
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
	async #take(key: string, claim: Claim, joint: Joint, isFirst: boolean): Promise<ExecutionRecord[]> {
		const request = { key, call: this.#mint.next(), repeated: false };
		let taken: ExecutionRecord[];
		try {
			taken = await this.#dispatcher.claim({ ...claim, request }, joint.controller.signal);
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
	async #recall(key: string, claim: Claim): Promise<ExecutionRecord[] | undefined> {
		const found = await Promise.all(
			this.#runners.map(async (runner) => {
				const { time, records } = await this.#read<ClaimRequestRecord>(runner, [key]);
				// By the store's own time: an engine may take it to be later than it is, and deny what is still held.
				return records.filter(({ expiresAt }) => expiresAt > time).flatMap(({ leases }) => leases);
			}),
		);
		const leases = new Map(found.flat());
		if (leases.size === 0) return undefined;
		const held = await Promise.all(
			this.#runners.map((runner, partition) => {
				const ids = [...leases.keys()].filter((id) => trustedSlot(id) % this.#runners.length === partition);
				return ids.length > 0 ? this.#read<ExecutionRecord>(runner, ids.map(executionKey)) : { records: [] };
			}),
		);
		return held
			.flatMap(({ records }) => records)
			.filter((record) => record.lease?.id === leases.get(record.id))
			.sort(inOrderOf(claim));
	}

	/** The records there are, from the store: what an engine remembers may be old. */
	async #read<R extends object>(runner: PartitionRunner, keys: string[]): Promise<{ time: number; records: R[] }> {
		const question = (store: Store, partition: number) => store.read(partition, keys);
		const { time, records } = await runner.ask(question, PARTITION_PATIENCE_MS);
		return { time, records: records.filter(({ version }) => version > 0).map((stored) => this.#decode(stored) as R) };
	}

	#decode({ key, doc }: StoredRecord): object {
		try {
			return this.#kernel.decode(key, doc);
		} catch (error) {
			throw corruptRecord(key, error);
		}
	}
}

/** As a first answer is ordered: lane by lane as they were given, the best first. */
const inOrderOf =
	({ lanes }: Claim) =>
	(a: ExecutionRecord, b: ExecutionRecord): number =>
		lanes.indexOf(a.lane) - lanes.indexOf(b.lane) || queueScore(a) - queueScore(b) || (a.id < b.id ? -1 : 1);
