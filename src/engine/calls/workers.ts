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
import { type WorkerRecord, workerExpiresAt } from "../../kernel/records/worker.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { Desk } from "./desk.ts";

const DEFAULT_TTL_MS = 30_000;

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
		const capabilities = capabilitySet(given.capabilities);
		const { engine } = this.#desk;
		const { worker, hasArrived } = await this.#desk.runOn(this.#home(namespace), "registerWorker", {
			op: "registerWorker",
			namespace,
			instanceId,
			workerId,
			capabilities,
			kinds: kinds ?? null,
			lanes,
			ttlMs,
		});
		engine.attendance.registered({ namespace, instanceId, workerId, capabilities, kinds: kinds ?? null, lanes }, ttlMs);
		if (hasArrived) await engine.routes.released(namespace, worker.capabilities);
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
		this.#desk.engine.attendance.removed(namespace, instanceId);
		this.#desk.engine.routes.gone();
		return { removed };
	}

	async list(request: WorkersRequest = {}): Promise<{ workers: WorkerView[] }> {
		const namespace = this.#desk.namespaceFor(workersRequest.check(request).namespace);
		const { engine } = this.#desk;
		engine.refuseIfClosed();
		const { workers } = await engine.registry.read(namespace, (key, error) =>
			engine.fault(`record ${key} cannot be read`, error),
		);
		return { workers: workers.map(workerView) };
	}

	#home(namespace: string): PartitionRunner {
		this.#desk.engine.refuseIfClosed();
		return this.#desk.engine.registry.runnerOf(namespace);
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
