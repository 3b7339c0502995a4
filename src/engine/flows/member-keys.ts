import { refusalError } from "../../contract/errors.ts";
import { type KeyHolder, keyConflict } from "../../kernel/idempotency.ts";
import { slotOf } from "../../kernel/ids.ts";
import { DEFAULT_DEDUP_WINDOW_MS } from "../../kernel/policy.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { type FlowRecord, flowKey } from "../../kernel/records/flow.ts";
import { idempotencySubject } from "../../kernel/records/idempotency-key.ts";
import { publicState } from "../../kernel/state.ts";
import { mapBounded } from "../bounded.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { readRecords } from "../reading/records.ts";
import type { NodeOfFlow } from "./given-flow.ts";

const IN_FLIGHT = 16;
/** How often, and how long each time, a member is looked for that is about to be made. */
const LOOKS = 100;
const LOOK_AGAIN_MS = 50;

/** A key that somebody wants, and who holds it. */
interface Wanted {
	namespace: string;
	idempotencyKey: string;
	holder: KeyHolder;
}

/**
 * The idempotency keys of members. A key belongs to its own partition, a member to that of its flow; so a key is held before
 * its member is made, and names the flow. When there is no such flow any more, whoever comes upon the key frees it.
 */
export class MemberKeys {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	/** Holds the keys of nodes. Whoever gives up making them frees them. */
	async hold(flowId: string, nodes: readonly NodeOfFlow[]): Promise<void> {
		await mapBounded(nodes, IN_FLIGHT, (node) => this.#holdOne(flowId, node));
	}

	/** Lets go of the keys of nodes that were not made after all. What cannot be freed is, when its flow is gone. */
	async free(nodes: readonly NodeOfFlow[]): Promise<void> {
		await mapBounded(nodes, IN_FLIGHT, async ({ work: { namespace, idempotencyKey = "", executionId } }) => {
			if (idempotencyKey) await this.#free(namespace, idempotencyKey, executionId).catch(() => {});
		});
	}

	async #holdOne(flowId: string, { key: node, work, bodyHash }: NodeOfFlow): Promise<void> {
		const { namespace, idempotencyKey, executionId } = work;
		if (!idempotencyKey) return;
		const windowMs = work.policy.dedupWindowMs ?? DEFAULT_DEDUP_WINDOW_MS;
		const runner = this.#runnerOf(namespace, idempotencyKey);
		for (;;) {
			const { holder } = await this.#session.runOn(runner, "holdKey", {
				op: "holdKey",
				namespace,
				idempotencyKey,
				bodyHash,
				windowMs,
				executionId,
				flowId,
				node,
			});
			if (!holder) return;
			await this.freeIfGone({ namespace, idempotencyKey, holder });
		}
	}

	/** Frees a key whose flow is gone; otherwise it is in use, which is a conflict. */
	async freeIfGone({ namespace, idempotencyKey, holder }: Wanted): Promise<void> {
		if (await this.#flowOf(holder)) throw refusalError(keyConflict(idempotencyKey, holder.executionId));
		await this.#free(namespace, idempotencyKey, holder.executionId);
	}

	/** The member that was made under a key, from the same body; undefined when the key has been freed. */
	async madeBefore({ namespace, idempotencyKey, holder }: Wanted) {
		for (let looks = 0; holder.isSame && looks < LOOKS; looks++) {
			const runner = this.#session.engine.runnerOfFlow(holder.flowId);
			const [member] = await readRecords<ExecutionRecord>(this.#session, runner, [executionKey(holder.executionId)]);
			if (member && !member.removing && !member.member?.isHidden)
				return { id: member.id, publicState: publicState(member), created: false };
			if (!(await this.#flowOf(holder))) break;
			const { clock } = this.#session.engine;
			await new Promise<void>((resolve) => clock.setTimer(LOOK_AGAIN_MS, resolve));
		}
		await this.freeIfGone({ namespace, idempotencyKey, holder });
		return undefined;
	}

	async #flowOf({ flowId }: KeyHolder): Promise<FlowRecord | undefined> {
		const runner = this.#session.engine.runnerOfFlow(flowId);
		const [flow] = await readRecords<FlowRecord>(this.#session, runner, [flowKey(flowId)]);
		return flow?.removing ? undefined : flow;
	}

	async #free(namespace: string, idempotencyKey: string, executionId: string): Promise<void> {
		const runner = this.#runnerOf(namespace, idempotencyKey);
		await this.#session.runOn(runner, "freeKey", { op: "freeKey", namespace, idempotencyKey, executionId });
	}

	#runnerOf(namespace: string, idempotencyKey: string): PartitionRunner {
		return this.#session.engine.runnerOfSlot(slotOf(idempotencySubject(namespace, idempotencyKey)));
	}
}
