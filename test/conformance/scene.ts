import { expect } from "vitest";
import {
	type Backend,
	type Calls,
	type ClaimedExecution,
	type ClaimRequest,
	type CreateRequest,
	type EventType,
	type Execution,
	type FlowFabric,
	FlowFabricError,
} from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { FabricSettings, OpenFabric, OtherCaller, PublicRow } from "./public-rows.ts";
import { blobKeysOf, recordsOf } from "./scanned.ts";

/** Registers a case; every case gets FlowFabric on a new, empty store. */
export type PublicCase = (name: string, run: (scene: Scene) => Promise<void>, settings?: FabricSettings) => void;

export interface FenceLike {
	leaseId: string;
	epoch: number;
}

/** A claimed execution with the fence its holder shows. */
export type Held = ClaimedExecution & { fence: FenceLike };

/** A fence of no lease that ever was. */
export const foreignFence: FenceLike = { leaseId: `le_${"0".repeat(32)}_0`, epoch: 1 };

/** An id of the right form under which nothing was ever made. */
export const unknownId = `ex_${"0".repeat(32)}_0`;

/** One case at work: the public interface, a clock that moves only when told, and words for what cases do often. */
export class Scene {
	readonly clock: VirtualClock;
	readonly #opened: OpenFabric;
	#ff: FlowFabric;

	private constructor(clock: VirtualClock, opened: OpenFabric) {
		this.clock = clock;
		this.#opened = opened;
		this.#ff = opened.ff;
	}

	static async open(row: PublicRow, settings: FabricSettings = {}): Promise<Scene> {
		const clock = new VirtualClock();
		return new Scene(clock, await row.open(clock, settings));
	}

	get ff(): FlowFabric {
		return this.#ff;
	}

	get backend(): Backend {
		return this.#ff.backend;
	}

	/** The same as somebody else may see and do it. */
	as(caller: OtherCaller): Calls {
		return this.#opened.as(caller);
	}

	get now(): number {
		return this.clock.now();
	}

	async discard(): Promise<void> {
		await this.#opened.discard();
	}

	/** Nobody minds the store for `ms`. */
	async reopen(ms = 0): Promise<void> {
		if (!this.#opened.reopen) throw new Error("this row cannot be opened again");
		this.#ff = await this.#opened.reopen(() => this.clock.advance(ms));
	}

	async create(request: Partial<CreateRequest> = {}): Promise<string> {
		return (await this.backend.executions.create({ kind: "job", ...request })).id;
	}

	claim(request: Partial<ClaimRequest> = {}, signal?: AbortSignal): Promise<ClaimedExecution[]> {
		return this.backend.leases.claim({ workerId: "worker", instanceId: "instance-1", ...request }, signal);
	}

	/** Claims the one thing there is to claim. */
	async take(request: Partial<ClaimRequest> = {}): Promise<Held> {
		const [claimed, ...others] = await this.claim(request);
		if (!claimed || others.length > 0) throw new Error(`claimed ${claimed ? others.length + 1 : 0} instead of 1`);
		return { ...claimed, fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch } };
	}

	/** Something new, claimed. */
	async start(request: Partial<CreateRequest> = {}, claim: Partial<ClaimRequest> = {}): Promise<Held> {
		const id = await this.create(request);
		const held = await this.take({
			...(request.lane === undefined ? undefined : { lanes: [request.lane] }),
			...(request.namespace === undefined ? undefined : { namespace: request.namespace }),
			...claim,
		});
		expect(held.id).toBe(id);
		return held;
	}

	/** Something new that has already ended well. */
	async finished(request: Partial<CreateRequest> = {}): Promise<Held> {
		const held = await this.start(request);
		await this.backend.leases.complete(held.id, { fence: held.fence });
		return held;
	}

	/** All seven fields. */
	async state(id: string) {
		const { publicState, state } = await this.backend.executions.get(id);
		return { publicState, ...state };
	}

	async get(id: string): Promise<Execution> {
		return this.backend.executions.get(id);
	}

	async events(id: string) {
		return (await this.backend.executions.events(id, { limit: 1000 })).events;
	}

	async eventTypes(id: string): Promise<EventType[]> {
		return (await this.events(id)).map(({ type }) => type);
	}

	/** Keys of all records and blobs there are, but for what is remembered of workers and their calls for a while. */
	async records(): Promise<string[]> {
		const { store } = this.#opened;
		const keys: string[] = [];
		for (let partition = 0; partition < store.partitions; partition++) {
			for (const { key } of await recordsOf(store, partition))
				if (!/^(claim|worker):/.test(key)) keys.push(`${partition} ${key}`);
			for (const key of await blobKeysOf(store, partition)) keys.push(`${partition} bytes ${key}`);
		}
		return keys;
	}

	/** Ids of everything in a namespace, newest first. */
	async listed(namespace = "default"): Promise<string[]> {
		return (await this.backend.executions.list({ namespace, limit: 1000 })).executions.map(({ id }) => id);
	}
}

/** The refusal a call must meet. */
export async function refusal(call: Promise<unknown>): Promise<FlowFabricError> {
	const error = await call.then(
		(answer) => expect.fail(`was not refused but answered ${JSON.stringify(answer)}`),
		(thrown: unknown) => thrown,
	);
	if (!(error instanceof FlowFabricError)) throw error;
	return error;
}
