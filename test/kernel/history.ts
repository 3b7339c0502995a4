import { expect } from "vitest";
import { makeId } from "../../src/kernel/ids.ts";
import { eligibleQueue } from "../../src/kernel/placement.ts";
import { type ExecutionRecord, executionKey } from "../../src/kernel/records/execution.ts";
import { claimOne } from "./claim-command.ts";
import { policies, type Shown, type Step } from "./history-steps.ts";
import { MapPartition } from "./map-tx.ts";
import { type Answer, ModelExecution, type ModelFence } from "./model.ts";
import * as model from "./model-commands.ts";
import { compare, same } from "./model-comparison.ts";

const WORK = { namespace: "default", lane: "default", kind: "job", requiredCapabilities: [] };
const QUEUE = eligibleQueue(WORK);
const START = 1_700_000_000_000;
const uuid = (n: number): string => n.toString(16).padStart(32, "0");

/** Lives through the same steps with the rules and with the model, and compares all they say after each. */
export class History {
	readonly partition = new MapPartition();
	readonly executions: ModelExecution[] = [];
	/** What was answered to what, so that a test can see that its histories went everywhere. */
	readonly answers = new Set<string>();
	readonly #fences = new Map<string, ModelFence[]>();
	#now = START;
	#writableSince = 0;
	#minted = 0;

	live(step: Step): void {
		for (const it of this.executions) it.told = [];
		const from = this.partition.events.length;
		this.#take(step);
		const told = this.partition.events.slice(from).filter(({ type }) => type !== "deleted");
		const expected = this.executions.flatMap((it) => it.told.map((type) => [it.id, type]));
		same(told.map(({ executionId, type }) => [executionId, type]).sort(), expected.sort());
		for (const it of this.executions) {
			const record = this.partition.read<ExecutionRecord>(executionKey(it.id));
			if (!record) throw new Error(`${it.id} is gone`);
			compare(record, it);
		}
		same(
			this.partition.queue(QUEUE).map(({ key }) => key),
			this.#waiting().map(({ id }) => id),
		);
	}

	#take(step: Step): void {
		switch (step.do) {
			case "advance":
				this.#now += step.ms;
				return;
			case "pass":
				return this.#pass(step.ms);
			case "outage":
				this.#writableSince = this.#now;
				return;
			case "create":
				return this.#create(step);
			case "claim":
				return this.#claim(step.max, step.ttl);
		}
		const it = this.executions[step.which % Math.max(1, this.executions.length)];
		if (!it) return;
		if (step.do === "tick") {
			this.#tick(it);
			return;
		}
		if (step.do === "delete") return this.#delete(it);
		if (step.do === "intrude") return this.#intrude(it, step.shown);
		const executionId = it.id;
		const now = this.#now;
		const fence = "shown" in step ? this.#fence(it, step.shown) : undefined;
		// A caller bound to the namespace of the work is no different from one that is not bound.
		const showing = { ...(fence ? { fence } : undefined), ...(step.which % 2 ? { namespace: "default" } : undefined) };
		switch (step.do) {
			case "complete":
				return this.#agree(
					step.do,
					this.partition.run({ op: "complete", executionId, ...showing, result: null }, now),
					model.complete(it, fence, now),
				);
			case "fail": {
				const report = {
					reason: "broken",
					category: step.category,
					...(step.retryable === undefined ? undefined : { retryable: step.retryable }),
					...(step.retryAfterMs === undefined ? undefined : { retryAfterMs: step.retryAfterMs }),
				};
				// The rules wait between half and the whole of a jittered backoff; this asks for the whole, as the model does.
				const command = { op: "fail" as const, executionId, ...showing, ...report, jitter: 1 };
				return this.#agree(step.do, this.partition.run(command, now), model.fail(it, fence, report, now));
			}
			case "delay":
				return this.#agree(
					step.do,
					this.partition.run({ op: "delay", executionId, ...showing, delayMs: step.ms }, now),
					model.delay(it, fence, step.ms, now),
				);
			case "release":
				return this.#agree(
					step.do,
					this.partition.run({ op: "release", executionId, ...showing }, now),
					model.release(it, fence, now),
				);
			case "renew": {
				const ttl = step.ttl === undefined ? undefined : { leaseMs: step.ttl };
				const command = { op: "renew" as const, executionId, ...showing, ...ttl };
				return this.#agree(step.do, this.partition.run(command, now), model.renew(it, fence, step.ttl, now));
			}
			case "progress": {
				const progress = step.percent === undefined ? { message: "going" } : { percent: step.percent };
				return this.#agree(
					step.do,
					this.partition.run({ op: "progress", executionId, ...showing, progress }, now),
					model.progress(it, fence, progress),
				);
			}
			case "cancel": {
				const { mode, graceMs } = step;
				const asked = {
					...showing,
					mode,
					graceMs,
					...(step.reason === undefined ? undefined : { reason: step.reason }),
				};
				return this.#agree(
					step.do,
					this.partition.run({ op: "cancel", executionId, ...asked, actor: "ops" }, now),
					model.cancel(it, asked, now),
				);
			}
			case "revokeLease": {
				const expected = fence ? { expectedLeaseId: fence.leaseId } : undefined;
				return this.#agree(
					step.do,
					this.partition.run({ op: "revokeLease", executionId, ...expected, actor: "ops" }, now),
					model.revoke(it, fence?.leaseId, now),
				);
			}
			case "changePriority": {
				const { priority } = step;
				return this.#agree(
					step.do,
					this.partition.run({ op: "changePriority", executionId, ...showing, priority, actor: "ops" }, now),
					model.changePriority(it, priority),
				);
			}
			case "setTags": {
				const { set, remove } = step;
				return this.#agree(
					step.do,
					this.partition.run({ op: "setTags", executionId, ...showing, set, remove, actor: "ops" }, now),
					model.setTags(it, set, remove),
				);
			}
			case "replay":
				return this.#agree(
					step.do,
					this.partition.run({ op: "replay", executionId, actor: "ops" }, now),
					model.replay(it, now),
				);
		}
	}

	#create({ policy: n, priority, delayMs, tags }: Extract<Step, { do: "create" }>): void {
		if (this.executions.length >= 4) return;
		const id = makeId("ex", uuid(++this.#minted), 7);
		const policy = policies[n] ?? {};
		const now = this.#now;
		const outcome = this.partition.run(
			{
				op: "create",
				executionId: id,
				kind: "job",
				namespace: "default",
				lane: "default",
				priority,
				tags,
				policy,
				input: null,
				delayMs,
				createdBy: "ops",
				retentionMs: 86_400_000,
				actor: "ops",
			},
			now,
		);
		const it = new ModelExecution({ id, policy, priority, tags, now, delayUntil: now + delayMs });
		this.executions.push(it);
		this.#agree("create", outcome, { ok: true, id, created: true, publicState: it.fields().publicState });
	}

	#claim(max: number, ttl: number): void {
		const uuids = Array.from({ length: max }, () => uuid(++this.#minted));
		const outcome = this.partition.run(claimOne(WORK, 0, { max, leaseUuids: uuids, leaseMs: ttl }), this.#now);
		if (!outcome.ok) throw new Error(`a claim was refused: ${outcome.code}`);
		const best = this.#waiting().slice(0, max);
		expect(outcome.executions.map(({ id }) => id)).toEqual(best.map(({ id }) => id));
		for (const [n, it] of best.entries()) {
			const leaseId = makeId("le", uuids[n] ?? "", 7);
			it.claim(leaseId, ttl, this.#now);
			this.#fences.set(it.id, [...(this.#fences.get(it.id) ?? []), { leaseId, epoch: it.epoch }]);
		}
	}

	/** Time goes by, and everything that is due is done, as an engine would. */
	#pass(ms: number): void {
		this.#now += ms;
		for (const it of [...this.executions]) {
			const told: string[] = [];
			while (this.#tick(it)) told.push(...it.told.splice(0));
			it.told = told;
		}
	}

	/** One tick does what was due first; two timers that are due at once or wait for holders are nobody's promise. */
	#tick(it: ModelExecution): boolean {
		const due = model
			.timers(it, this.#writableSince)
			.filter(({ at }) => at <= this.#now)
			.sort((a, b) => a.at - b.at);
		const [first, second] = due;
		if (first && second && (first.at === second.at || this.#writableSince > 0)) return false;
		const command = { op: "tick" as const, key: it.id, writableSince: this.#writableSince, jitter: 1 };
		const outcome = this.partition.run(command, this.#now);
		if (!outcome.ok) throw new Error(`a tick was refused: ${outcome.code}`);
		expect(outcome.duty !== undefined).toBe(first !== undefined);
		this.answers.add(`tick ${first?.what ?? "nothing"}`);
		if (first?.what === "retention") this.#gone(it);
		else if (first) model.fire(it, first.what, this.#now);
		return first !== undefined && first.what !== "retention";
	}

	#delete(it: ModelExecution): void {
		const ended = it.situation.is === "ended";
		const outcome = this.partition.run({ op: "delete", executionId: it.id, actor: "ops" }, this.#now);
		this.#agree("delete", outcome, ended ? { ok: true, deleted: true } : { ok: false, code: "execution_not_terminal" });
		if (ended) this.#gone(it);
	}

	/** For a caller bound to another namespace the work does not exist, whatever fence it shows. */
	#intrude(it: ModelExecution, shown: Shown): void {
		const fence = this.#fence(it, shown);
		const target = { executionId: it.id, namespace: "other", ...(fence ? { fence } : undefined) };
		const by = { ...target, actor: "intruder" };
		const { partition } = this;
		const now = this.#now;
		const outcomes = [
			partition.run({ op: "renew", ...target }, now),
			partition.run({ op: "complete", ...target, result: null }, now),
			partition.run({ op: "fail", ...target, reason: "x", category: "net", jitter: 1 }, now),
			partition.run({ op: "delay", ...target, delayMs: 1 }, now),
			partition.run({ op: "release", ...target }, now),
			partition.run({ op: "progress", ...target, progress: { percent: 1 } }, now),
			partition.run({ op: "cancel", ...by, mode: "force", graceMs: 0 }, now),
			partition.run({ op: "revokeLease", ...by }, now),
			partition.run({ op: "changePriority", ...by, priority: 9 }, now),
			partition.run({ op: "setTags", ...by, set: { mine: "now" }, remove: [] }, now),
			partition.run({ op: "replay", ...by }, now),
			partition.run({ op: "delete", ...by }, now),
		];
		same(
			outcomes,
			outcomes.map(() => ({ ok: false, code: "execution_not_found", details: { executionId: it.id } })),
		);
	}

	#gone(it: ModelExecution): void {
		expect([...this.partition.docs.keys()].filter((key) => key.startsWith(it.id))).toEqual([]);
		const command = { op: "release" as const, executionId: it.id };
		expect(this.partition.run(command, this.#now)).toMatchObject({ ok: false, code: "execution_not_found" });
		this.executions.splice(this.executions.indexOf(it), 1);
	}

	#waiting(): ModelExecution[] {
		return this.executions
			.filter(({ situation }) => situation.is === "waiting")
			.sort((a, b) => b.priority - a.priority || a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
	}

	#fence(it: ModelExecution, shows: Shown): ModelFence | undefined {
		const fences = this.#fences.get(it.id) ?? [];
		const foreign = { leaseId: makeId("le", uuid(0), 7), epoch: 1 };
		switch (shows) {
			case "current":
				return fences.at(-1) ?? foreign;
			case "last":
				return fences.at(-2) ?? fences.at(-1) ?? foreign;
			case "older":
				return fences.at(-3) ?? foreign;
			case "wrong epoch":
				return { ...(fences.at(-1) ?? foreign), epoch: 99 };
			case "foreign":
				return foreign;
			case "none":
				return undefined;
		}
	}

	#agree(op: string, outcome: Answer | { ok: boolean; code?: string; details?: object }, answer: Answer): void {
		const { details, ...rest } = outcome as { details?: object };
		this.answers.add(`${op} ${answer.ok ? String(answer.publicState ?? "ok") : answer.code}`);
		if (answer.ok) expect(outcome).toEqual(answer);
		else expect({ ...details, ...rest }).toMatchObject(answer);
	}
}
