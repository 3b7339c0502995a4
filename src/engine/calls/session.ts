import { FlowFabricError, refusalError } from "../../contract/errors.ts";
import { type AnyEvent, decodeEvent, eventName } from "../../kernel/events.ts";
import type { CommandOf, Op, OutcomeOf } from "../../kernel/kernel.ts";
import type { Outcome } from "../../kernel/outcome.ts";
import type { Payload } from "../../kernel/payload.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { isFor, type Target } from "../../kernel/target.ts";
import type { LoggedEvent, StoredRecord } from "../../store/port.ts";
import type { Engine } from "../engine.ts";
import type { HolderNotices } from "../holder-notices.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { corruptRecord } from "../partition/unreadable.ts";
import { unpack } from "../payloads.ts";
import { namespaceFor } from "../scope.ts";
import type { Watched } from "./watching.ts";

/** On whose behalf calls are made. */
export interface Caller {
	/** Who acts, in events and as `createdBy`. */
	actor: string;
	/** The only namespace whose work exists for this caller; all of them when left out. */
	namespace?: string;
}

type Accepted<O extends Op> = Extract<OutcomeOf<O>, { ok: true }>;

/** Commands about one execution, whose id says where they run. */
type ExecutionOp = { [O in Op]: CommandOf<O> extends { executionId: string } ? O : never }[Op];

/** What the calls of every area share: one caller at one engine. */
export class Session {
	readonly engine: Engine;
	readonly caller: Caller;
	readonly notices: HolderNotices;
	/** How long ended executions are kept unless their policy says otherwise. */
	readonly retentionMs: number;

	constructor(engine: Engine, notices: HolderNotices, retentionMs: number, caller: Caller) {
		this.engine = engine;
		this.notices = notices;
		this.retentionMs = retentionMs;
		this.caller = caller;
	}

	/** The same session for another caller. */
	for(caller: Caller): Session {
		return new Session(this.engine, this.notices, this.retentionMs, caller);
	}

	/** The namespace a call is about, or `forbidden`. */
	namespaceFor(named: string | undefined): string {
		return namespaceFor(this.caller.namespace, named);
	}

	runnerOf(executionId: string): PartitionRunner {
		return this.engine.runner(this.engine.partitionOf(executionId));
	}

	/** An execution, to be watched. */
	watched(executionId: string): Watched {
		return { partition: this.engine.partitionOf(executionId), subject: executionKey(executionId) };
	}

	/** `ofMany` for a command that comes with hundreds of others; see `Running`. */
	run<O extends ExecutionOp>(op: O, command: CommandOf<O>, ofMany = 0): Promise<Accepted<O>> {
		const { namespace } = this.caller;
		// Whose work it is, the rule decides: what was read beforehand might be another's by then.
		if (namespace !== undefined) (command as Target).namespace = namespace;
		return this.runOn(this.runnerOf((command as { executionId: string }).executionId), op, command, ofMany);
	}

	/** One promise from the call to its outcome: three of them would cost as much as the rule. */
	runOn<O extends Op>(runner: PartitionRunner, _op: O, command: CommandOf<O>, ofMany = 0): Promise<Accepted<O>> {
		return new Promise((resolve, reject) => {
			const settle = (outcome: Outcome) => {
				if (outcome.ok) resolve(outcome as Accepted<O>);
				else reject(refusalError(outcome));
			};
			runner.enqueue(command, settle, reject, undefined, ofMany);
		});
	}

	/** Readers are answered from the store, never from what an engine happens to remember. */
	async read(id: string): Promise<{ record: ExecutionRecord; runner: PartitionRunner }> {
		const runner = this.runnerOf(id);
		const { records } = await runner.ask((store, partition) => store.read(partition, [executionKey(id)]));
		const [stored] = records;
		const record = stored && stored.version > 0 ? this.decode<ExecutionRecord>(stored) : undefined;
		if (!record || !isFor(record, this.caller.namespace))
			throw new FlowFabricError("execution_not_found", { details: { executionId: id } });
		return { record, runner };
	}

	decode<R extends object>({ key, doc }: StoredRecord): R {
		try {
			return this.engine.kernel.decode(key, doc) as R;
		} catch (error) {
			throw corruptRecord(key, error);
		}
	}

	/** Like `decode`, for lists: one record that cannot be read is told of and left out. */
	decodeReadable<R extends object>(stored: StoredRecord): R | undefined {
		try {
			return this.engine.kernel.decode(stored.key, stored.doc) as R;
		} catch (error) {
			this.engine.fault("a record cannot be read", error, stored.key);
			return undefined;
		}
	}

	/** Likewise, for events. */
	decodeReadableEvents(events: readonly LoggedEvent[]): AnyEvent[] {
		return events.flatMap((event) => this.decodeReadableEvent(event) ?? []);
	}

	decodeReadableEvent(event: LoggedEvent): AnyEvent | undefined {
		try {
			return decodeEvent(event);
		} catch (error) {
			this.engine.fault("a record cannot be read", error, eventName(event));
			return undefined;
		}
	}

	async bytes(id: string, payload: Payload) {
		if (payload.ref === undefined) return unpack(payload, undefined);
		const { ref } = payload;
		const { blobs } = await this.runnerOf(id).ask((store, partition) => store.readBlobs(partition, [ref]));
		return unpack(payload, blobs[0]);
	}
}
