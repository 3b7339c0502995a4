import type { CancelFlowRequest } from "../../contract/flows.ts";
import type { CancelledFlow } from "../../contract/replies.ts";
import { flowQueue } from "../../kernel/placement.ts";
import { DEFAULT_GRACE_MS } from "../../kernel/policy.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { type FlowRecord, flowKey } from "../../kernel/records/flow.ts";
import { hasEnded } from "../../kernel/state.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { Session } from "../calls/session.ts";
import { watch } from "../calls/watching.ts";
import { readRecords } from "../reading/records.ts";
import type { FlowReader } from "./flow-reader.ts";

/** Ids that an answer names. */
const MOST_IDS = 1000;
/** How long somebody who waits for a cancel is kept waiting, beyond the grace of those who run. */
const PATIENCE_MS = 10_000;
/** The longest wait of all: the request itself ends at 120 s. */
const MOST_PATIENCE_MS = 110_000;

/** Cancels flows, and tells what came of it. */
export class FlowCanceller {
	readonly #session: Session;
	readonly #reader: FlowReader;

	constructor(session: Session, reader: FlowReader) {
		this.#session = session;
		this.#reader = reader;
	}

	async cancel(
		flowId: string,
		given: CancelFlowRequest,
		isAwaited: boolean,
		signal?: AbortSignal,
	): Promise<CancelledFlow> {
		const { policy, mode = "graceful", graceMs = DEFAULT_GRACE_MS, reason } = given;
		const { engine, caller } = this.#session;
		const runner = engine.runnerOfFlow(flowId);
		const open = await this.#openMembers(flowId);
		const { flow, changed, left } = await this.#session.runOn(runner, "cancelFlow", {
			op: "cancelFlow",
			flowId,
			...(caller.namespace === undefined ? undefined : { namespace: caller.namespace }),
			policy,
			mode,
			graceMs,
			...(reason === undefined ? undefined : { reason }),
			actor: caller.actor,
		});
		if (!changed && flow.outcome !== "") return this.#reply(flow, "already_terminal", 0, []);
		const ids = await this.#reached(flow, open);
		if (!isAwaited) return this.#reply(flow, changed ? "scheduled" : "already_requested", left, ids);
		const graceLeft = flow.cancel?.mode === "graceful" ? flow.cancel.graceMs : 0;
		const timeoutMs = Math.min(graceLeft + PATIENCE_MS, MOST_PATIENCE_MS);
		const failedIds = await this.#settled(flow, ids, { timeoutMs, signal });
		const now = await this.#reader.read(flowId);
		const status = failedIds.length === 0 ? "cancelled" : "partially_cancelled";
		return { ...(await this.#reply(now, status, left, ids)), ...(failedIds.length > 0 ? { failedIds } : undefined) };
	}

	/** Members that have not ended; not more than are named. */
	async #openMembers(flowId: string): Promise<string[]> {
		const runner = this.#session.engine.runnerOfFlow(flowId);
		const open: string[] = [];
		let after: QueuePosition | undefined;
		do {
			const from = after;
			const { entries } = await runner.ask((store, at) => store.first(at, flowQueue(flowId), MOST_IDS, from));
			const ids = entries.map(({ key }) => key);
			for (const record of await this.#members(flowId, ids)) if (!hasEnded(record)) open.push(record.id);
			after = entries.length === MOST_IDS ? entries.at(-1) : undefined;
		} while (after && open.length < MOST_IDS);
		return open.slice(0, MOST_IDS);
	}

	/** Those that had not ended before the cancel came. */
	async #reached({ id, cancel }: FlowRecord, ids: readonly string[]): Promise<string[]> {
		const since = cancel?.requestedAt ?? 0;
		return (await this.#members(id, ids)).filter((it) => !hasEnded(it) || it.completedAt >= since).map((it) => it.id);
	}

	/** Waits until every member has been reached, and those that had to end have; the answer names those that have not. */
	async #settled(
		{ id }: FlowRecord,
		ids: readonly string[],
		patience: { timeoutMs: number; signal: AbortSignal | undefined },
	): Promise<string[]> {
		const { partition } = this.#session.engine.runnerOfFlow(id);
		return watch(this.#session, { partition, subject: flowKey(id) }, patience, async (isLast) => {
			const flow = await this.#reader.read(id);
			if (flow.outcome !== "") return [];
			if (flow.cancelFrom === 0 && flow.cancel?.policy !== "cancel_all") return [];
			if (!isLast) return undefined;
			return (await this.#members(id, ids)).filter((record) => !hasEnded(record)).map((record) => record.id);
		});
	}

	async #members(flowId: string, ids: readonly string[]): Promise<ExecutionRecord[]> {
		const runner = this.#session.engine.runnerOfFlow(flowId);
		const records = await readRecords<ExecutionRecord>(this.#session, runner, ids.map(executionKey));
		return records.filter((record) => record !== undefined);
	}

	async #reply(
		flow: FlowRecord,
		status: CancelledFlow["status"],
		memberCount: number,
		memberIds: string[],
	): Promise<CancelledFlow> {
		const { cancel } = flow;
		const { state } = await this.#reader.summary(flow.id);
		return {
			status,
			state,
			...(cancel ? { policy: cancel.policy } : undefined),
			...(cancel?.reason === undefined ? undefined : { reason: cancel.reason }),
			memberCount,
			memberIds,
		};
	}
}
