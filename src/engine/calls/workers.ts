import type { WorkerCalls } from "../../contract/backend.ts";
import { DEFAULT_LIMIT } from "../../contract/fields.ts";
import type { WorkerPage, WorkerView } from "../../contract/replies.ts";
import {
	capabilitySet,
	checkKinds,
	instanceIdShape,
	type RegisterWorkerRequest,
	registerWorkerRequest,
	type WorkersPageRequest,
	type WorkersRequest,
	workersPageRequest,
	workersRequest,
} from "../../contract/workers.ts";
import type { CommandOf } from "../../kernel/kernel.ts";
import { type WorkerRecord, workerExpiresAt } from "../../kernel/records/worker.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { Session } from "./session.ts";

const DEFAULT_TTL_MS = 30_000;

/** The registry of workers; all of a namespace live in one partition. */
export class LocalWorkers implements WorkerCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async register(instanceId: string, request: RegisterWorkerRequest): Promise<WorkerView> {
		instanceIdShape.check({ instanceId });
		const given = registerWorkerRequest.check(request);
		const { workerId, kinds, lanes, ttlMs = DEFAULT_TTL_MS } = given;
		const namespace = this.#session.namespaceFor(given.namespace);
		checkKinds(kinds);
		const capabilities = capabilitySet(given.capabilities);
		const { engine } = this.#session;
		const command: CommandOf<"registerWorker"> = {
			op: "registerWorker",
			namespace,
			instanceId,
			workerId,
			capabilities,
			kinds: kinds ?? null,
			lanes,
			ttlMs,
		};
		const { worker, hasArrived } = await engine.workerLimit.admit(
			namespace,
			instanceId,
			() => this.#session.runOn(this.#home(namespace), "registerWorker", command),
			({ worker: { registeredAt, lastSeenAt } }) => registeredAt === lastSeenAt,
		);
		engine.heartbeats.registered({ namespace, instanceId, workerId, capabilities, kinds: kinds ?? null, lanes }, ttlMs);
		if (hasArrived) await engine.routes.released(namespace, worker.capabilities);
		return workerView(worker);
	}

	async remove(instanceId: string, request: WorkersRequest = {}): Promise<{ removed: boolean }> {
		instanceIdShape.check({ instanceId });
		const namespace = this.#session.namespaceFor(workersRequest.check(request).namespace);
		const { removed } = await this.#session.runOn(this.#home(namespace), "removeWorker", {
			op: "removeWorker",
			namespace,
			instanceId,
		});
		this.#session.engine.heartbeats.removed(namespace, instanceId);
		this.#session.engine.routes.gone();
		return { removed };
	}

	async list(request: WorkersPageRequest = {}): Promise<WorkerPage> {
		const { limit = DEFAULT_LIMIT, cursor, ...given } = workersPageRequest.check(request);
		const namespace = this.#session.namespaceFor(given.namespace);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const list = `workers of ${namespace}`;
		const after = await engine.cursors.after(list, cursor);
		const { workers, next } = await engine.registry.page(namespace, limit, after, (key, error) =>
			engine.fault("a record cannot be read", error, key),
		);
		return {
			workers: workers.map(workerView),
			...(next ? { nextCursor: await engine.cursors.at(list, next) } : undefined),
		};
	}

	#home(namespace: string): PartitionRunner {
		this.#session.engine.refuseIfClosed();
		return this.#session.engine.registry.runnerOf(namespace);
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
