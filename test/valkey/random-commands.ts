import { makeId } from "../../src/kernel/ids.ts";
import type { CommandOf, Op } from "../../src/kernel/kernel.ts";
import { inputBlobKey, type Payload, resultBlobKey } from "../../src/kernel/payload.ts";
import { eligibleQueue } from "../../src/kernel/placement.ts";
import type { Policy } from "../../src/kernel/policy.ts";
import { claimRequestKey } from "../../src/kernel/records/claim-request.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { policies } from "../kernel/history-steps.ts";
import { Random } from "../simulation/random.ts";

const KINDS = ["job", "other"];
const LANES = ["default", "slow lane"];
const NAMESPACE = "default";
const MOST_ALIVE = 40;

/** Those of a worker that offers what some of the work needs. */
const queuesOf = (lane: string, kinds: readonly string[]): string[] =>
	kinds.flatMap((kind) =>
		[[], ["gpu"]].map((requiredCapabilities) =>
			eligibleQueue({ namespace: NAMESPACE, lane, kind, requiredCapabilities }),
		),
	);

type Command = { [O in Op]: CommandOf<O> }[Op];

/** One command and where it belongs. */
export interface Sent {
	partition: number;
	command: Command;
}

interface Known {
	id: string;
	partition: number;
	fences: { leaseId: string; epoch: number }[];
}

/** Seeded commands of every kind, with all ids and randomness inside; what they were answered decides what comes next. */
export class Commands {
	readonly random: Random;
	readonly #partitions: number;
	readonly #known: Known[] = [];
	/** Accepts of what was granted. */
	readonly #grants: Sent[] = [];
	#revision = 0;

	constructor(seed: number, partitions: number) {
		this.random = new Random(seed);
		this.#partitions = partitions;
	}

	/** Some that are sent at once, so that they meet in one batch. */
	next(): Sent[] {
		return Array.from({ length: this.random.pick([1, 1, 2, 5, 12]) }, () => this.#one());
	}

	/** What a command was answered: leases to show, executions that are gone. */
	heard({ partition, command }: Sent, outcome: unknown): void {
		if (command.op === "create") this.#known.push({ id: command.executionId, partition, fences: [] });
		if (command.op === "createMany")
			for (const { executionId } of command.items) this.#known.push({ id: executionId, partition, fences: [] });
		if (command.op === "claim") {
			for (const { id, lease } of (outcome as { executions: ExecutionRecord[] }).executions) {
				const known = this.#known.find((one) => one.id === id);
				if (lease) known?.fences.push({ leaseId: lease.id, epoch: lease.epoch });
			}
		}
		if (command.op === "grant") {
			for (const { grant } of (outcome as { executions: ExecutionRecord[] }).executions) {
				const accept = { instanceId: "w-1", leaseUuid: this.random.hex(16), leaseMs: 3019, actor: "w-1" };
				if (grant) this.#grants.push({ partition, command: { op: "acceptGrant", grantId: grant.id, ...accept } });
			}
		}
		while (this.#known.length > MOST_ALIVE) this.#known.shift();
	}

	#one(): Sent {
		const { random } = this;
		const partition = random.integer(0, this.#partitions - 1);
		const known = this.#known.length > 0 ? random.pick(this.#known) : undefined;
		if (!known || random.chance(0.2)) return { partition, command: this.#create(partition) };
		if (random.chance(0.25)) return { partition, command: this.#claim() };
		if (random.chance(0.06)) return { partition, command: this.#grant() };
		const granted = random.chance(0.1) ? this.#grants.pop() : undefined;
		if (granted) return granted;
		if (random.chance(0.04)) return { partition, command: this.#lane() };
		if (random.chance(0.05)) return { partition, command: this.#worker() };
		return { partition: known.partition, command: this.#about(known) };
	}

	#create(partition: number): Command {
		const { random } = this;
		if (random.chance(0.2)) {
			const items = Array.from({ length: random.integer(1, 5) }, () => this.#creation(partition));
			return { op: "createMany", items };
		}
		return this.#creation(partition);
	}

	#creation(partition: number): CommandOf<"create"> {
		const { random } = this;
		const executionId = makeId("ex", random.hex(16), partition + this.#partitions * random.integer(0, 20));
		const inputBlob = random.chance(0.15) ? { key: inputBlobKey(executionId), bytes: this.#bytes() } : undefined;
		const policy: Policy = random.pick(policies);
		return {
			op: "create",
			executionId,
			kind: random.pick(KINDS),
			namespace: NAMESPACE,
			lane: random.pick(LANES),
			priority: random.pick([0, 0, 5, 9000]),
			policy: random.chance(0.3) ? { ...policy, dedupWindowMs: 3000 } : policy,
			input: inputBlob ? { size: inputBlob.bytes.length, ref: inputBlob.key } : this.#payload(),
			createdBy: "ops",
			retentionMs: 20_000,
			actor: "ops",
			...(random.chance(0.2) ? { fairnessKey: random.pick(["tenant a", "tenant b", "c"]) } : undefined),
			...(random.chance(0.15) ? { requiredCapabilities: ["gpu"] } : undefined),
			...(random.chance(0.3) ? { tags: { team: random.pick(["red", "blue"]), "a.b": "" } } : undefined),
			...(random.chance(0.2) ? { delayMs: random.pick([0, 700, 2500]) } : undefined),
			...(random.chance(0.3)
				? { idempotencyKey: `key ${partition} ${random.integer(0, 4)}`, bodyHash: random.pick(["same", "other"]) }
				: undefined),
			...(inputBlob ? { inputBlob } : undefined),
		};
	}

	#claim(): Command {
		const { random } = this;
		const lane = random.pick(LANES);
		const kinds = random.chance(0.5) ? undefined : [random.pick(KINDS)];
		const max = random.integer(1, 4);
		const request = { key: claimRequestKey(NAMESPACE, "w", `request ${random.integer(0, 3)}`), call: random.hex(4) };
		return {
			op: "claim",
			namespace: NAMESPACE,
			lane,
			queues: queuesOf(lane, kinds ?? KINDS),
			kinds,
			capabilities: ["gpu"],
			max,
			leaseUuids: Array.from({ length: max }, () => random.hex(16)),
			leaseMs: random.pick([1009, 3019, 60_013]),
			workerId: "w",
			instanceId: "w-1",
			inputBudget: random.pick([100, 1e9]),
			atLeastOne: true,
			actor: "w-1",
			...(random.chance(0.2) ? { request } : undefined),
		};
	}

	#grant(): Command {
		const { random } = this;
		const lane = random.pick(LANES);
		const kind = random.pick(KINDS);
		return {
			op: "grant",
			namespace: NAMESPACE,
			lane,
			queues: queuesOf(lane, [kind]),
			kinds: undefined,
			capabilities: ["gpu"],
			grantUuid: random.hex(16),
			grantTtlMs: random.pick([500, 5000]),
			workerId: "w",
			instanceId: "w-1",
			actor: "w-1",
		};
	}

	/** A lane's copy in a partition; an earlier revision than the one it has changes nothing. */
	#lane(): Command {
		const { random } = this;
		const revision = random.chance(0.8) ? ++this.#revision : random.integer(0, this.#revision);
		const state = random.pick(["open", "open", "open", "paused", "draining"] as const);
		return {
			op: "copyLane",
			namespace: NAMESPACE,
			lane: random.pick(LANES),
			state,
			agingMs: 1e12,
			revision,
			stateSince: 1,
		};
	}

	#worker(): Command {
		const { random } = this;
		const instanceId = `w-${random.integer(0, 3)}`;
		if (random.chance(0.3)) return { op: "removeWorker", namespace: NAMESPACE, instanceId };
		const offer = { capabilities: ["gpu"], kinds: null, lanes: LANES, ttlMs: random.pick([1500, 30_000]) };
		return { op: "registerWorker", namespace: NAMESPACE, instanceId, workerId: "w", ...offer };
	}

	#about({ id: executionId, fences }: Known): Command {
		const { random } = this;
		const held = random.chance(0.85) ? fences.at(-1) : random.pick(fences);
		const fence = held && random.chance(0.05) ? { ...held, epoch: 99 } : held;
		const shown = { executionId, ...(fence && random.chance(0.95) ? { fence } : undefined) };
		const by = { executionId, actor: "ops" };
		const blob = { key: resultBlobKey(executionId, fence?.epoch ?? 0), bytes: this.#bytes() };
		const commands: Command[] = [
			{ op: "complete", ...shown, result: this.#payload() },
			{ op: "complete", ...shown, result: { size: blob.bytes.length, ref: blob.key }, resultBlob: blob },
			{ op: "complete", ...shown, result: null },
			{
				op: "fail",
				...shown,
				reason: "broken",
				category: random.pick(["net", "bug", "permanent"]),
				jitter: random.next(),
				...(random.chance(0.3) ? { retryAfterMs: 733 } : undefined),
			},
			{ op: "delay", ...shown, delayMs: random.pick([0, 607]) },
			{ op: "release", ...shown },
			{ op: "renew", ...shown },
			{ op: "progress", ...shown, progress: { percent: random.integer(0, 100), message: "é" } },
			{ op: "cancel", ...by, mode: random.pick(["graceful", "force"]), graceMs: random.pick([0, 1103]) },
			{ op: "revokeLease", ...by },
			{ op: "changePriority", ...by, priority: random.pick([0, 5, 7]) },
			{ op: "setTags", ...by, set: { team: random.pick(["red", "green"]) }, remove: random.pick([[], ["a.b"]]) },
			{ op: "replay", ...by },
			{ op: "delete", ...by },
			{ op: "tick", key: executionId, writableSince: 0, jitter: random.next() },
		];
		return random.pick(commands);
	}

	#payload(): Payload {
		const text = JSON.stringify({ text: "x".repeat(this.random.pick([0, 10, 700])) });
		return { size: text.length, text };
	}

	#bytes(): Uint8Array {
		return Uint8Array.from({ length: this.random.integer(1, 3000) }, () => this.random.integer(0, 255));
	}
}
