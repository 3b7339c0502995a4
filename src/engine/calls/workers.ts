import type { WorkerCalls } from "../../contract/backend.ts";
import type { WorkerView } from "../../contract/replies.ts";
import {
	capabilitySet,
	checkKinds,
	instanceIdShape,
	type RegisterWorkerRequest,
	registerWorkerRequest,
	type WorkersRequest,
	workersRequest,
} from "../../contract/workers.ts";
import { workersQueue } from "../../kernel/placement.ts";
import { slotOfWorkers, type WorkerRecord, workerExpiresAt } from "../../kernel/records/worker.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { PartitionRunner } from "../partition-runner.ts";
import type { Desk } from "./desk.ts";

const DEFAULT_TTL_MS = 30_000;
const PAGE = 1000;

/** The registry of workers; all of a namespace live in one partition. */
export class LocalWorkers implements WorkerCalls {
	readonly #desk: Desk;

	constructor(desk: Desk) {
		this.#desk = desk;
	}

	async register(instanceId: string, request: RegisterWorkerRequest): Promise<WorkerView> {
		instanceIdShape.check({ instanceId });
		const given = registerWorkerRequest.check(request);
		const { workerId, kinds, lanes, ttlMs = DEFAULT_TTL_MS } = given;
		const namespace = this.#desk.namespaceFor(given.namespace);
		checkKinds(kinds);
		const { worker } = await this.#desk.runOn(this.#home(namespace), "registerWorker", {
			op: "registerWorker",
			namespace,
			instanceId,
			workerId,
			capabilities: capabilitySet(given.capabilities),
			kinds: kinds ?? null,
			lanes,
			ttlMs,
		});
		return workerView(worker);
	}

	async remove(instanceId: string, request: WorkersRequest = {}): Promise<{ removed: boolean }> {
		instanceIdShape.check({ instanceId });
		const namespace = this.#desk.namespaceFor(workersRequest.check(request).namespace);
		const { removed } = await this.#desk.runOn(this.#home(namespace), "removeWorker", {
			op: "removeWorker",
			namespace,
			instanceId,
		});
		return { removed };
	}

	async list(request: WorkersRequest = {}): Promise<{ workers: WorkerView[] }> {
		const namespace = this.#desk.namespaceFor(workersRequest.check(request).namespace);
		const runner = this.#home(namespace);
		const workers: WorkerView[] = [];
		let after: QueuePosition | undefined;
		do {
			const position = after;
			const { entries } = await runner.ask((store, partition) =>
				store.first(partition, workersQueue(namespace), PAGE, position),
			);
			workers.push(...(await this.#read(runner, entries)));
			after = entries.length < PAGE ? undefined : entries.at(-1);
		} while (after);
		return { workers };
	}

	/** One that cannot be read is told as a fault and left out; one past its time is gone although its tick is to come. */
	async #read(runner: PartitionRunner, entries: readonly QueuePosition[]): Promise<WorkerView[]> {
		if (entries.length === 0) return [];
		const { engine } = this.#desk;
		const { records } = await runner.ask((store, partition) =>
			store.read(
				partition,
				entries.map(({ key }) => key),
			),
		);
		const now = runner.time.now();
		return records.flatMap(({ key, version, doc }) => {
			if (version === 0) return [];
			try {
				const worker = engine.kernel.decode(key, doc) as WorkerRecord;
				return workerExpiresAt(worker) > now ? [workerView(worker)] : [];
			} catch (error) {
				engine.fault(`record ${key} cannot be read`, error);
				return [];
			}
		});
	}

	#home(namespace: string): PartitionRunner {
		return this.#desk.engine.runnerOfSlot(slotOfWorkers(namespace));
	}
}

function workerView(worker: WorkerRecord): WorkerView {
	const { instanceId, workerId, namespace, capabilities, kinds, lanes, registeredAt, lastSeenAt } = worker;
	return {
		instanceId,
		workerId,
		namespace,
		capabilities: [...capabilities],
		...(kinds ? { kinds: [...kinds] } : undefined),
		lanes: [...lanes],
		registeredAt,
		lastSeenAt,
		expiresAt: workerExpiresAt(worker),
	};
}
