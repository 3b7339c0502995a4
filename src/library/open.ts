import { FlowFabricError } from "../contract/errors.ts";
import type { Clock } from "../engine/clock.ts";
import { Engine } from "../engine/engine.ts";
import { LocalBackend } from "../engine/local-backend.ts";
import { FORMAT, indexOf, migrate } from "../kernel/format.ts";
import { openStore } from "../store/open.ts";
import { StoreOpenError } from "../store/port.ts";
import { quietLogger } from "../worker/logger.ts";

export interface OpenOptions {
	/** Partitions of a new store; an existing one must have as many, and decides when this is left out. */
	partitions?: number;
	/** How long ended executions are kept unless their policy says otherwise (24 h); 0 keeps them until deleted. */
	retentionMs?: number;
	/** Who acts, in events and as `createdBy`. */
	actor?: string;
	/** Told of faults the engine meets and survives. */
	onFault?: (fault: { about: string; error: unknown }) => void;
	/** For tests: the store's time and how an engine waits. */
	testClock?: { now: () => number; clock: Clock };
}

const DEFAULT_RETENTION_MS = 86_400_000;
const MAX_PARTITIONS = 256;

/** An engine in this process, started. */
export async function openBackend(url: string, options: OpenOptions): Promise<LocalBackend> {
	const { partitions, retentionMs = DEFAULT_RETENTION_MS, actor = "local", testClock } = options;
	checkInteger("partitions", partitions, 1, MAX_PARTITIONS);
	checkInteger("retentionMs", retentionMs, 0, Number.MAX_SAFE_INTEGER);
	const store = await openStore(url, {
		...(partitions === undefined ? undefined : { partitions }),
		...(testClock ? { testClock: testClock.now } : undefined),
		format: { format: FORMAT, migrate, indexOf },
	}).catch((error: unknown) => {
		if (!(error instanceof StoreOpenError)) throw error;
		throw new FlowFabricError(error.code, { message: error.message, details: error.details, cause: error });
	});
	const engine = new Engine({
		store,
		...(testClock ? { clock: testClock.clock } : undefined),
		onFault:
			options.onFault ?? (({ about, error }) => quietLogger.warn(`${about}${error ? `: ${String(error)}` : ""}`)),
	});
	try {
		await engine.start();
	} catch (error) {
		await engine.close();
		throw error;
	}
	return new LocalBackend({ engine, actor, retentionMs });
}

function checkInteger(field: string, value: number | undefined, low: number, high: number): void {
	if (value === undefined || (Number.isInteger(value) && value >= low && value <= high)) return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: must be an integer from ${low} to ${high}, got ${String(value)}`,
		details: { field },
	});
}
