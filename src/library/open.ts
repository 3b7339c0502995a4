import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { SECRET_ALLOWED, SECRET_HEX } from "../contract/keys.ts";
import { namesOf, refuseUnknownOptions } from "../contract/option-names.ts";
import { PUBLIC_URL_ALLOWED, publicUrl } from "../contract/public-url.ts";
import { type ScannerRestriction, scannerFilterOf } from "../contract/scanners.ts";
import { Engine, type EngineOptions } from "../engine/engine.ts";
import { type Fault, faultLine } from "../engine/fault-log.ts";
import { LocalBackend } from "../engine/local-backend.ts";
import { FORMAT, indexOf, migrate } from "../kernel/format.ts";
import { openStore } from "../store/open.ts";
import { type RecordFormat, type Store, StoreOpenError, type StoreOptions } from "../store/port.ts";
import { quietLogger } from "../worker/logger.ts";

/** How an engine in this process works; defaults stand in parentheses. */
export interface OpenOptions {
	/** Partitions of a new store (8 on Valkey, else 1); an existing one must have as many, and decides when this is left out. */
	partitions?: number;
	/** How long ended executions are kept unless their policy says otherwise (24 h); 0 keeps them until deleted. */
	retentionMs?: number;
	/** How often what is not due at a time of its own is looked over (5 min): lost notices, blocked work, old events, the index. */
	sweepMs?: number;
	/** What this engine's scanners act on (everything). Other work is then for other engines. */
	scanners?: ScannerRestriction;
	/**
	 * Signs the tokens of waitpoints on a store that has no keyring yet: 32 to 128 bytes as hex digits (drawn).
	 * A store's own keyring wins over it, with a warning.
	 */
	waitpointSecretHex?: string;
	/** How long tokens of waitpoints are taken after another key took the place of theirs (24 h). */
	waitpointGraceMs?: number;
	/** Where outsiders reach this program's server, in front of callback URLs (none: these are paths alone). */
	publicUrl?: string;
	/** Who acts, in events and as `createdBy` (`local`). */
	actor?: string;
	/**
	 * Told of faults the engine meets and survives, at most once a minute of each class with how often it happened, and at
	 * the start of what the store's set-up puts at risk (a line on standard error).
	 */
	onFault?: (fault: Fault) => void;
	/** For tests: the store's time, how an engine waits, and how often one that is alone says that it is there (none). */
	testClock?: {
		/** The store's time, in Unix milliseconds. */
		now: () => number;
		/** How the engine waits. */
		clock: Clock;
		/** How often an engine that is alone says that it is there, in milliseconds. */
		aloneMs?: number;
	};
}

type TokenOptions = Pick<EngineOptions, "waitpointSecretHex" | "waitpointGraceMs" | "publicUrl">;

const OPTION_NAMES = namesOf<OpenOptions>({
	partitions: true,
	retentionMs: true,
	sweepMs: true,
	scanners: true,
	waitpointSecretHex: true,
	waitpointGraceMs: true,
	publicUrl: true,
	actor: true,
	onFault: true,
	testClock: true,
});

const DEFAULT_RETENTION_MS = 86_400_000;
const MAX_PARTITIONS = 256;
const MAX_SWEEP_MS = 86_400_000;
const MAX_GRACE_MS = 315_360_000_000;

/** An engine in this process, started. */
export async function openBackend(url: string, options: OpenOptions): Promise<LocalBackend> {
	refuseUnknownOptions("open()", options, OPTION_NAMES);
	const { partitions, retentionMs = DEFAULT_RETENTION_MS, sweepMs, actor = "local", testClock } = options;
	checkText("actor", actor);
	checkInteger("retentionMs", retentionMs, 0, Number.MAX_SAFE_INTEGER);
	const scannerFilter = scannerFilterOf(options.scanners);
	checkInteger("sweepMs", sweepMs, 1000, MAX_SWEEP_MS);
	const tokens = tokenOptions(options);
	const store = await openStoreAt(url, {
		...(partitions === undefined ? undefined : { partitions }),
		...(testClock ? { testClock: testClock.now } : undefined),
	});
	const onFault = options.onFault ?? ((fault) => quietLogger.warn(faultLine(fault)));
	for (const about of store.warnings ?? []) onFault({ about, error: undefined, count: 1, subjects: [] });
	const engine = new Engine({
		store,
		scannerFilter,
		...tokens,
		...(sweepMs === undefined ? undefined : { sweepMs }),
		...(testClock ? { clock: testClock.clock } : undefined),
		...(testClock?.aloneMs === undefined ? undefined : { presence: { aloneMs: testClock.aloneMs } }),
		onFault,
	});
	try {
		await engine.start();
	} catch (error) {
		await engine.close();
		throw error;
	}
	return new LocalBackend({ engine, actor, retentionMs });
}

/** The store at a URL with this version's format; what is wrong with it is told as any other refusal. */
export async function openStoreAt(url: string, options: Omit<StoreOptions, "format"> = {}): Promise<Store> {
	checkInteger("partitions", options.partitions, 1, MAX_PARTITIONS);
	if (typeof url !== "string") {
		throw new FlowFabricError("invalid_input", {
			message: `url: must be a string such as sqlite:./flowfabric.db, got ${url === null ? "null" : typeof url}`,
			details: { field: "url" },
		});
	}
	try {
		return await openStore(url, { ...options, format: recordFormat });
	} catch (error) {
		if (!(error instanceof StoreOpenError)) throw error;
		throw new FlowFabricError(error.code, { message: error.message, details: error.details, cause: error });
	}
}

export const recordFormat: RecordFormat = { format: FORMAT, migrate, indexOf };

/** What is said of waitpoints' tokens, checked; the secret itself is never told. */
function tokenOptions({ waitpointSecretHex, waitpointGraceMs, publicUrl: given }: OpenOptions): TokenOptions {
	if (
		waitpointSecretHex !== undefined &&
		!(typeof waitpointSecretHex === "string" && SECRET_HEX.test(waitpointSecretHex))
	)
		throw notAllowed("waitpointSecretHex", SECRET_ALLOWED);
	checkInteger("waitpointGraceMs", waitpointGraceMs, 0, MAX_GRACE_MS);
	const url = typeof given === "string" ? publicUrl(given) : undefined;
	if (given !== undefined && url === undefined) throw notAllowed("publicUrl", PUBLIC_URL_ALLOWED);
	return {
		...(waitpointSecretHex === undefined ? undefined : { waitpointSecretHex }),
		...(waitpointGraceMs === undefined ? undefined : { waitpointGraceMs }),
		...(url === undefined ? undefined : { publicUrl: url }),
	};
}

const notAllowed = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });

function checkText(field: string, value: unknown): void {
	if (typeof value === "string" && value.length >= 1 && value.length <= 256) return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: must be a string of 1 to 256 characters`,
		details: { field },
	});
}

function checkInteger(field: string, value: number | undefined, low: number, high: number): void {
	if (value === undefined || (Number.isInteger(value) && value >= low && value <= high)) return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: must be an integer from ${low} to ${high}, got ${String(value)}`,
		details: { field },
	});
}
