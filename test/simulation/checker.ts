import type { Execution } from "../../src/contract/replies.ts";
import { type AnyEvent, decodeEvent, type ExecutionEvent } from "../../src/kernel/events.ts";
import { kernel, type Rules } from "../../src/kernel/kernel.ts";
import type { Outcome } from "../../src/kernel/outcome.ts";
import type { ClaimRequestRecord } from "../../src/kernel/records/claim-request.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { publicState, type StateFields } from "../../src/kernel/state.ts";
import { TIME_TOLERANCE_MS, type Unit } from "../../src/store/port.ts";
import { lostLaterFields } from "../later-fields.ts";
import { FlowWatch } from "./flow-watch.ts";
import { fold, type Told } from "./fold.ts";
import { checkGrant } from "./grant-watch.ts";
import { GuardWatch } from "./guard-watch.ts";
import type { IntermediateStates } from "./intermediate-states.ts";
import { LaneWatch } from "./lane-watch.ts";
import { oneRecord } from "./one-record.ts";
import type { SimPartition } from "./sim-store.ts";
import { StreamWatch } from "./stream-watch.ts";
import { SuspensionWatch } from "./suspension-watch.ts";
import { checkList, checkTenant } from "./tenant-watch.ts";
import { type Group, type Journal, resetsKey } from "./test-rules.ts";
import { Violation } from "./violation.ts";
import { WorkerWatch } from "./worker-watch.ts";
import type { World } from "./world.ts";

interface Episode {
	/** The moment this state began. */
	from: number;
	record: ExecutionRecord | undefined;
}

const STATE_FIELDS = [
	"lifecyclePhase",
	"ownershipState",
	"eligibilityState",
	"blockingReason",
	"terminalOutcome",
	"attemptState",
] as const;

/** Watches every commit and every reply, and says what broke. The rules it judges by are the true ones. */
export class Checker {
	readonly #world: World;
	readonly #episodes = new Map<string, Episode[]>();
	readonly #told = new Map<string, Told>();
	readonly #seq = new Map<string, number>();
	readonly #docs = new Map<string, string>();
	readonly #leaseUuids = new Map<string, { id: string; moment: number }>();
	/** Leases by the namespace and instance that claimed them. */
	readonly #claimedBy = new Map<string, { id: string; leaseId: string; moment: number; partition: SimPartition }[]>();
	/** Grants by the namespace and instance they were given to. */
	readonly #grantedTo = new Map<string, { id: string; grantId: string; moment: number; partition: SimPartition }[]>();
	readonly #tokens = new Set<string>();
	readonly #byKey = new Map<string, string>();
	readonly removed = new Set<string>();
	readonly lanes = new LaneWatch();
	readonly workers: WorkerWatch;
	readonly guards: GuardWatch;
	readonly suspensions = new SuspensionWatch();
	readonly streams = new StreamWatch();
	readonly flows: FlowWatch;
	/** Told of every event as it is stored. */
	onEvent: ((event: ExecutionEvent, before: ExecutionRecord | undefined) => void) | undefined;

	readonly #intermediate: IntermediateStates;

	constructor(world: World, intermediate: IntermediateStates) {
		this.#world = world;
		this.#intermediate = intermediate;
		this.workers = new WorkerWatch(world);
		this.guards = new GuardWatch(world, intermediate);
		this.flows = new FlowWatch(world, (id) => this.#current(id));
	}

	/** A unit is about to be applied. */
	observe(partition: SimPartition, unit: Unit, time: number): void {
		const all = unit.events.map(decodeEvent);
		const events = all.filter(isOfExecution);
		this.#checkTimes(unit, events, time);
		this.workers.observe(unit);
		this.guards.observe(partition, unit, this.#docs);
		this.suspensions.observe(unit);
		const passed = new Map<string, readonly (ExecutionRecord | undefined)[]>();
		for (const key of unit.removed) {
			const before = this.#docs.get(key);
			this.#docs.delete(key);
			if (!key.startsWith("ex_") || key.includes("/")) continue;
			for (const between of this.#intermediate.beforeRemoval(key, before)) this.#pass(key, between);
			this.#episodesOf(key).push({ from: this.#world.moment, record: undefined });
			this.removed.add(key);
			this.guards.judge(key, undefined);
			this.suspensions.judge(key, unit, [undefined], time);
			passed.set(key, [undefined]);
		}
		for (const { key, doc } of unit.put) this.#checkLaterFields(key, doc);
		for (const { key, doc } of unit.put) {
			if (key.startsWith("journal:")) this.#checkJournal(key, JSON.parse(doc), unit);
			else if (key.startsWith("group:")) this.#checkGroup(partition, key, unit, JSON.parse(doc));
			else if (key.startsWith("claim:"))
				this.#checkOneCall(partition, key, kernel.decode(key, doc) as ClaimRequestRecord, time);
			else if (key.startsWith("ex_") && !key.includes("/")) {
				const record = kernel.decode(key, doc) as ExecutionRecord;
				this.flows.enter(record);
				if (record.member?.isHidden) {
					this.#docs.set(key, doc);
					continue;
				}
				const states = [this.#current(key)];
				for (const between of this.#intermediate.between(key, this.#docs.get(key), doc))
					states.push(this.#pass(key, between));
				const own = events.filter((event) => event.executionId === key);
				for (const event of own) this.lanes.check(partition, unit, event, record);
				this.#checkExecution(key, record, own, time);
				this.guards.judge(key, record);
				this.suspensions.judge(key, unit, [...states, record], time);
				passed.set(key, [...states, record]);
			}
			this.#docs.set(key, doc);
		}
		const statesOf = (id: string) => passed.get(id) ?? [this.#current(id)];
		this.streams.observe(unit, events, statesOf, this.#world.moment, time);
		this.guards.checkLive();
		this.flows.observe(unit, all);
		for (const event of events) {
			const { actor, namespace, executionId } = event;
			if (event.type === "granted") {
				const granted = { id: executionId, grantId: event.grantId, moment: this.#world.moment, partition };
				const instance = `${namespace} ${actor}`;
				this.#grantedTo.set(instance, [...(this.#grantedTo.get(instance) ?? []), granted]);
			}
			if (event.type !== "claimed") continue;
			const claimed = { id: executionId, leaseId: event.leaseId, moment: this.#world.moment, partition };
			const instance = `${namespace} ${actor}`;
			this.#claimedBy.set(instance, [...(this.#claimedBy.get(instance) ?? []), claimed]);
		}
	}

	/** Within a partition a request takes leases in one call only, as long as it is remembered. */
	#checkOneCall(partition: SimPartition, key: string, next: ClaimRequestRecord, time: number): void {
		const { version, doc } = partition.read(key);
		const before = version === 0 ? undefined : (kernel.decode(key, doc) as ClaimRequestRecord);
		if (before && before.call !== next.call && before.expiresAt > time + TIME_TOLERANCE_MS) {
			throw new Violation(`${key}: two calls took leases: ${before.leases} and ${next.leases}`);
		}
	}

	/** A state that lasted no longer than its unit. */
	#pass(id: string, doc: string): ExecutionRecord {
		const record = kernel.decode(id, doc) as ExecutionRecord;
		this.#episodesOf(id).push({ from: this.#world.moment, record });
		return record;
	}

	#checkTimes(unit: Unit, events: ExecutionEvent[], time: number): void {
		for (const event of events) {
			// The store's own tolerance, and what two engines' lower bounds may differ by.
			if (Math.abs(time - event.at) > TIME_TOLERANCE_MS)
				throw new Violation(`${event.type} at ${event.at} while the store says ${time}`);
			if (event.type !== "lease_expired") continue;
			const before = this.#current(event.executionId)?.lease;
			if (before && before.id === event.leaseId && before.expiresAt > time && unit.put.length > 0) {
				throw new Violation(`lease ${before.id} ended at ${time}, ${before.expiresAt - time} ms early`);
			}
		}
	}

	#checkExecution(id: string, next: ExecutionRecord, events: ExecutionEvent[], time: number): void {
		const before = this.#docs.has(id) ? this.#current(id) : undefined;
		if (!before && !next.removing) this.#checkKeyIsFree(next, time);
		let told = this.#told.get(id);
		for (const event of events) {
			const seq = (this.#seq.get(id) ?? 0) + 1;
			if (event.seq !== seq) throw new Violation(`${id}: event ${event.type} has seq ${event.seq}, expected ${seq}`);
			this.#seq.set(id, seq);
			checkTenant(event, next, before);
			checkGrant(event, before, time);
			this.workers.check(event, next);
			this.onEvent?.(event, before);
			this.suspensions.tell(event, told);
			if (event.type === "claimed") this.#checkLeaseIsNew(id, String(event.leaseId));
			if (event.type === "deleted") continue;
			if (told?.lifecyclePhase === "terminal" && !mayFollowEnd(event, told)) {
				throw new Violation(`${id}: ${event.type} after it had ended`);
			}
			try {
				told = fold(told, event, next.eligibilityState === "blocked_by_dependencies");
			} catch (error) {
				throw new Violation(`${id}: ${(error as Error).message}`);
			}
		}
		if (told) this.#told.set(id, told);
		if (next.removing) {
			this.#episodesOf(id).push({ from: this.#world.moment, record: undefined });
			return;
		}
		this.#checkAgainstHistory(id, next, told);
		if (before && next.epoch < before.epoch)
			throw new Violation(`${id}: epoch went from ${before.epoch} to ${next.epoch}`);
		this.#episodesOf(id).push({ from: this.#world.moment, record: next });
	}

	#checkAgainstHistory(id: string, next: ExecutionRecord, told: Told | undefined): void {
		for (const field of STATE_FIELDS) {
			if (told?.[field] !== next[field])
				throw new Violation(`${id}: ${field} is ${next[field]}, its events say ${told?.[field]}`);
		}
		if (told?.liveLease !== next.lease?.id)
			throw new Violation(`${id}: lease is ${next.lease?.id}, its events say ${told?.liveLease}`);
		if (this.#seq.get(id) !== next.events)
			throw new Violation(`${id}: counts ${next.events} events, has ${this.#seq.get(id)}`);
	}

	#checkLeaseIsNew(id: string, leaseId: string): void {
		const other = this.#leaseUuids.get(uuidOf(leaseId));
		if (other) throw new Violation(`lease ${leaseId} was given for ${other.id} and ${id}`);
		this.#leaseUuids.set(uuidOf(leaseId), { id, moment: this.#world.moment });
	}

	#checkKeyIsFree(next: ExecutionRecord, time: number): void {
		if (!next.idempotencyKey) return;
		const key = `${next.namespace} ${next.idempotencyKey}`;
		const other = this.#byKey.get(key);
		const first = other === undefined ? undefined : this.#current(other);
		const window = next.policy.dedupWindowMs ?? 86_400_000;
		if (first && first.createdAt + window > time + TIME_TOLERANCE_MS) {
			throw new Violation(`key ${key} made both ${first.id} and ${next.id}`);
		}
		this.#byKey.set(key, next.id);
	}

	/** Also where an attempt moves from its execution into a record of its own. */
	#checkLaterFields(key: string, doc: string): void {
		const [home = "", attempt] = key.startsWith("ex_") ? key.split("/") : [key];
		const before = this.#docs.get(key) ?? (attempt && this.#docs.get(home));
		const lost = before ? lostLaterFields(before, doc) : [];
		const [name] = this.#docs.has(key) ? lost : lost.filter((part) => part !== "the document");
		if (name !== undefined) throw new Violation(`${key}: a field of a later version was lost from ${name}`);
	}

	#checkJournal(key: string, next: Journal, unit: Unit): void {
		const resets = resetsKey(key.slice("journal:".length));
		const wasReset = unit.put.some((put) => put.key === resets);
		const before = JSON.parse((wasReset ? undefined : this.#docs.get(key)) ?? '{"tokens":[]}') as Journal;
		const last = before.tokens.at(-1);
		const from = last === undefined ? 0 : next.tokens.lastIndexOf(last) + 1;
		if (last !== undefined && from === 0) throw new Violation(`${key}: ${last} was overwritten`);
		for (const token of next.tokens.slice(from)) {
			if (this.#tokens.has(token)) throw new Violation(`${key}: ${token} was applied twice`);
			this.#tokens.add(token);
		}
	}

	#checkGroup(partition: SimPartition, key: string, unit: Unit, next: Group): void {
		if (!next.closed) return;
		const prefix = `member:${key.slice("group:".length)}:`;
		const stored = [...partition.records.keys()].filter((other) => other.startsWith(prefix)).length;
		const added = unit.put.filter((put) => put.key.startsWith(prefix)).length;
		if (stored + added !== next.counted)
			throw new Violation(`${key}: counted ${next.counted} members of ${stored + added}`);
	}

	/** A call about one execution got this answer; some state during the call must explain it. */
	checkReply(op: keyof Rules, command: { executionId: string }, reply: Outcome, since: number): void {
		const id = command.executionId;
		const rule = kernel.rules[op] as (tx: unknown, command: unknown, now: number) => Outcome;
		const seen: string[] = [];
		for (const record of this.during(id, since)) {
			const outcome = rule(oneRecord(id, record), command, 0);
			const code = outcome.ok ? "ok" : outcome.code;
			seen.push(code);
			if (code !== (reply.ok ? "ok" : reply.code)) continue;
			if (!reply.ok || samePublicState(outcome, reply)) return;
		}
		throw new Violation(
			`${op} ${id} was answered ${JSON.stringify(reply)}; its states say ${[...new Set(seen)].join(", ")}`,
		);
	}

	checkRead(id: string, view: Execution | undefined, since: number): void {
		for (const record of this.during(id, since)) {
			if (!record || !view) {
				if (!record && !view) return;
				continue;
			}
			const { ownershipState: _, ...state } = withoutLane(view.state);
			const same =
				view.namespace === record.namespace &&
				view.publicState === publicState(record) &&
				view.lease?.id === record.lease?.id &&
				view.retries === record.retries &&
				view.reclaims === record.reclaims &&
				view.replays === record.replays &&
				view.priority === record.priority &&
				view.tags.n === record.tags.n &&
				(Object.keys(state) as (keyof typeof state)[]).every(
					(field) => state[field] === (record as StateFields)[field],
				);
			if (same) return;
		}
		throw new Violation(`reading ${id} gave ${view?.publicState ?? "nothing"}, which it was at no moment of the call`);
	}

	/** A tenant asked for all it has. */
	checkListed(namespace: string, told: readonly { id: string; namespace: string }[], since: number): void {
		const all = this.executions.map((id) => ({ id, states: this.during(id, since) }));
		checkList(namespace, told, all);
	}

	checkClaimed(id: string, leaseId: string, since: number): void {
		const given = this.#leaseUuids.get(uuidOf(leaseId));
		if (given?.id !== id || given.moment < since) {
			throw new Violation(`claim gave ${id} under ${leaseId}, a lease it never had during the call`);
		}
	}

	/** A repeat must tell of every lease its request had taken before and that was held all the while. */
	checkRepeated(namespace: string, instanceId: string, told: readonly string[], since: number): void {
		for (const { id, leaseId, moment, partition } of this.#claimedBy.get(`${namespace} ${instanceId}`) ?? []) {
			if (moment >= since || told.includes(leaseId)) continue;
			const states = this.during(id, since);
			const { lease } = states[0] ?? {};
			const held = states.every((record) => record?.lease?.id === leaseId);
			if (held && lease && lease.acquiredAt + lease.ttlMs > partition.time) {
				throw new Violation(`${instanceId} held ${id} under ${leaseId}; repeating its claim gave ${told}`);
			}
		}
	}

	/** A repeat must tell of a grant its request had got before, if one was there all the while. */
	checkRepeatedGrant(namespace: string, instanceId: string, told: string | undefined, since: number): void {
		const given = this.#grantedTo.get(`${namespace} ${instanceId}`) ?? [];
		const standing = given.filter(({ id, grantId, moment, partition }) => {
			const states = moment < since ? this.during(id, since) : [];
			const stood = states.length > 0 && states.every((record) => record?.grant?.id === grantId);
			return stood && (states[0]?.grant?.expiresAt ?? 0) > partition.time;
		});
		// Two engines may each have given one, of which the one told ends meanwhile. One that was accepted is told again for as
		// long as its lease is held.
		const wasThere = given.some(
			({ id, grantId }) =>
				grantId === told && this.during(id, since).some((record) => record?.lease || record?.grant?.id === grantId),
		);
		if (standing.length > 0 && !wasThere)
			throw new Violation(`${instanceId} had ${standing[0]?.grantId}; repeating its request gave ${told}`);
	}

	checkCreated(id: string, since: number): void {
		if (!this.during(id, since).some((record) => record))
			throw new Violation(`${id} was told to be there, but never was during the call`);
	}

	checkToken(token: string): void {
		if (!this.#tokens.has(token)) throw new Violation(`${token} was acknowledged but not written`);
	}

	/** Every index entry stands for a placement, and every placement has its entry. */
	checkIndex(partition: SimPartition): void {
		const expected = new Set<string>();
		for (const [key, { doc }] of partition.records) {
			for (const { queue, score } of kernel.placement(key, kernel.decode(key, doc)))
				expected.add(`${queue} ${score} ${key}`);
		}
		for (const [queue, set] of partition.queues) {
			if (queue.startsWith("members,")) continue;
			for (const { key, score } of set.first(Number.POSITIVE_INFINITY)) {
				if (!expected.delete(`${queue} ${score} ${key}`))
					throw new Violation(`${key} stands in ${queue} at ${score} without cause`);
			}
		}
		const [missing] = expected;
		if (missing !== undefined) throw new Violation(`the index lacks ${missing}`);
	}

	get executions(): string[] {
		return [...this.#episodes.keys()];
	}

	/** An execution as it is now. */
	recordOf(id: string): ExecutionRecord | undefined {
		return this.#current(id);
	}

	#current(id: string): ExecutionRecord | undefined {
		return this.#episodes.get(id)?.at(-1)?.record;
	}

	#episodesOf(id: string): Episode[] {
		const found = this.#episodes.get(id);
		if (found) return found;
		const made: Episode[] = [{ from: 0, record: undefined }];
		this.#episodes.set(id, made);
		return made;
	}

	/** The states an execution was in from a moment until now. */
	during(id: string, since: number): (ExecutionRecord | undefined)[] {
		const episodes = this.#episodesOf(id);
		let first = episodes.length - 1;
		while (first > 0 && (episodes[first] as Episode).from > since) first -= 1;
		return episodes.slice(first).map((episode) => episode.record);
	}
}

/** Whether its lane is paused is not written on an execution: it is one that could be claimed otherwise. */
const withoutLane = (state: StateFields): StateFields =>
	state.eligibilityState === "blocked_by_lane_state"
		? { ...state, eligibilityState: "eligible_now", blockingReason: "waiting_for_worker" }
		: state;

const isOfExecution = (event: AnyEvent): event is ExecutionEvent => event.executionId !== undefined;

/** What was skipped waits again when what it was skipped for is replayed. */
const mayFollowEnd = (event: ExecutionEvent, { terminalOutcome }: Told): boolean =>
	event.type === "replayed" ||
	event.type === "tags_changed" ||
	(event.type === "blocked" && event.reason === "waiting_for_children" && terminalOutcome === "skipped");

const uuidOf = (leaseId: string): string => leaseId.split("_")[1] ?? "";

function samePublicState(a: object, b: object): boolean {
	return (a as { publicState?: string }).publicState === (b as { publicState?: string }).publicState;
}
