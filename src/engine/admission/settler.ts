import { refusalError } from "../../contract/errors.ts";
import { uuidOfHold } from "../../kernel/admission/admitting.ts";
import { guardText } from "../../kernel/admission/guards.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { GuardName } from "../../kernel/records/guard.ts";
import type { RequestOfCall } from "../../kernel/rules/claim.ts";
import type { SettleCommand, Settlement, SettleOutcome } from "../../kernel/rules/settle.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import type { AdmissionRound, Admissions } from "./admissions.ts";

/** What a partition holds for a claim, in the order it stood there. */
export interface HeldThere {
	partition: number;
	held: readonly { record: ExecutionRecord; score: number }[];
}

/** For whom candidates are admitted, and how. */
export interface Admitting {
	namespace: string;
	lane: string;
	workerId: string;
	instanceId: string;
	leaseMs: number;
	/** Reserve one for so long instead of leasing. */
	grantTtlMs?: number;
	request?: RequestOfCall;
}

/** What became of them in one partition. */
export interface Settled {
	partition: number;
	outcome: Extract<SettleOutcome, { ok: true }>;
}

export interface SettlerOptions {
	runners: readonly PartitionRunner[];
	admissions: Admissions;
	/** These were refused by a budget or quota, and set aside. */
	onBlocked(guard: GuardName, records: readonly ExecutionRecord[]): void;
	/** These were leased although nobody waits for them any more. */
	onLate(partition: number, records: readonly ExecutionRecord[]): void;
}

/**
 * Takes what partitions hold for a claim through its budgets and quotas, all of it together and in the order it stood in,
 * and then has each partition lease what passed and set aside what did not.
 */
export class Settler {
	readonly #options: SettlerOptions;

	constructor(options: SettlerOptions) {
		this.#options = options;
	}

	async settle(admitting: Admitting, groups: readonly HeldThere[], round: AdmissionRound): Promise<Settled[]> {
		const { admissions } = this.#options;
		const all = groups
			.flatMap(({ held }) => held)
			.sort((a, b) => a.score - b.score || (a.record.id < b.record.id ? -1 : 1));
		const records = all.map(({ record }) => record);
		const fates = await admissions.ask(records, admitting.grantTtlMs !== undefined, round);
		const byId = new Map(fates.map((settlement) => [settlement.executionId, settlement]));
		const settled = groups.map(({ partition, held }) =>
			this.#tell(
				admitting,
				partition,
				held.flatMap(({ record }) => byId.get(record.id) ?? []),
			),
		);
		const results = await Promise.allSettled(settled);
		const done = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
		const [first] = results;
		if (done.length === 0 && first?.status === "rejected") throw first.reason;
		return done;
	}

	/** Nobody waits for these any more. */
	drop({ namespace, lane, instanceId }: Admitting, { partition, held }: HeldThere): void {
		if (held.length === 0) return;
		const settlements = held.map(({ record }): Settlement => {
			return { executionId: record.id, holdId: record.hold?.id ?? "", fate: "dropped" };
		});
		// If it cannot be told, the holds end by themselves.
		this.#runner(partition)
			.run({ op: "settle", namespace, lane, settlements, actor: instanceId })
			.catch(() => {});
	}

	/** What was set aside is looked at once more, as there may have come room before it was. Nobody waits for that. */
	refused(blocked: readonly { record: ExecutionRecord; by?: GuardName | undefined }[]): void {
		const byGuard = new Map<string, { guard: GuardName; records: ExecutionRecord[] }>();
		for (const { record, by } of blocked) {
			if (!by) continue;
			const group = byGuard.get(guardText(by));
			if (group) group.records.push(record);
			else byGuard.set(guardText(by), { guard: by, records: [record] });
		}
		for (const { guard, records } of byGuard.values()) this.#options.onBlocked(guard, records);
	}

	async #tell(admitting: Admitting, partition: number, settlements: readonly Settlement[]): Promise<Settled> {
		const command = commandFor(admitting, settlements);
		const outcome = await this.#runner(partition).run(command, PARTITION_PATIENCE_MS, (late) => {
			if (late.ok) this.#options.onLate(partition, late.executions);
		});
		if (!outcome.ok) throw refusalError(outcome);
		const by = new Map(settlements.map(({ executionId, fate }) => [executionId, refusedBy(fate)]));
		this.refused(outcome.blocked.map((record) => ({ record, by: by.get(record.id) })));
		return { partition, outcome };
	}

	#runner(partition: number): PartitionRunner {
		return this.#options.runners[partition] as PartitionRunner;
	}
}

function commandFor(admitting: Admitting, settlements: readonly Settlement[]): SettleCommand {
	const { namespace, lane, workerId, instanceId, leaseMs, grantTtlMs, request } = admitting;
	const command: SettleCommand = { op: "settle", namespace, lane, settlements, actor: instanceId };
	if (grantTtlMs === undefined) command.leasing = { workerId, instanceId, leaseMs, actor: instanceId };
	else command.granting = { grantUuid: uuidOfHold(settlements[0]?.holdId), grantTtlMs, workerId, instanceId };
	if (request) command.request = request;
	return command;
}

const refusedBy = (fate: Settlement["fate"]): GuardName | undefined =>
	fate !== "dropped" && "refusedBy" in fate ? fate.refusedBy : undefined;
