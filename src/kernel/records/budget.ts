import { number, oneOf, part, type Shapes, table, text } from "../shape.ts";
import type { Tags } from "../tags.ts";
import { type GuardRecord, guardDefaults, guardSubject } from "./guard.ts";
import { type Key, makeRecord } from "./record.ts";

/** What may be spent of a dimension; a limit that is left out is none. */
export interface Limit {
	hard?: number;
	soft?: number;
}

export type Amounts = Readonly<Record<string, number>>;

/** How often usage begins anew: every so many milliseconds, or at midnight or on the first of the month, UTC. */
export type ResetEvery = number | "daily" | "monthly";

export const ON_HARD = ["block", "fail", "cancel", "suspend"] as const;
export type OnHard = (typeof ON_HARD)[number];

/** A report that was refused: nothing is admitted until this is cleared. */
export interface Exhaustion {
	at: number;
	/** How much it was about. */
	report: number;
}

/** What the holders of a budget are to hear of. */
export interface Breach {
	/** Which breach it is: a later one is told of by itself. */
	number: number;
	dimension: string;
	/** When the telling is tried, and tried again. */
	tellAt: number;
}

export interface BudgetRecord extends GuardRecord {
	dimensions: Readonly<Record<string, Limit>>;
	/** Null when usage never begins anew by itself. */
	resets: { every: ResetEvery } | null;
	onHard: OnHard;
	labels: Tags;
	/** Of this period, by dimension. */
	used: Amounts;
	/** What was promised to holders and is not spent yet. */
	reserved: Amounts;
	exhausted: Readonly<Record<string, Exhaustion>>;
	/** Counts resets; entries of the ledger belong to one. */
	period: number;
	/** The first of this budget: what is kept of earlier ones belongs to one of the same name that was deleted. */
	firstPeriod: number;
	/** The earliest period of which the ledger may still hold entries. */
	ledgerFrom: number;
	nextResetAt: number;
	breachCount: number;
	softBreachCount: number;
	lastBreachAt: number;
	lastBreachDimension: string;
	/** Set until all holders have been told. */
	breach: Breach | null;
}

const nothing: Amounts = Object.freeze({});

export const budgetDefaults: BudgetRecord = {
	...guardDefaults,
	dimensions: Object.freeze({}),
	resets: null,
	onHard: "block",
	labels: Object.freeze({}) as Tags,
	used: nothing,
	reserved: nothing,
	exhausted: Object.freeze({}),
	period: 0,
	firstPeriod: 0,
	ledgerFrom: 0,
	nextResetAt: 0,
	breachCount: 0,
	softBreachCount: 0,
	lastBreachAt: 0,
	lastBreachDimension: "",
	breach: null,
};

const amounts = table(number);

export const budgetShapes: Shapes<BudgetRecord> = {
	dimensions: table(part({}, { hard: number, soft: number })),
	resets: part({ every: oneOf(number, text) }),
	labels: table(text),
	used: amounts,
	reserved: amounts,
	exhausted: table(part({ at: number, report: number })),
	breach: part({ number, dimension: text, tellAt: number }),
};

export const BUDGET_PREFIX = "budget:";

export const budgetKey = (namespace: string, id: string): Key<BudgetRecord> =>
	BUDGET_PREFIX + guardSubject(namespace, id);

export const makeBudget = (fields: Partial<BudgetRecord>): BudgetRecord => makeRecord(budgetDefaults, fields);

/** What one execution has spent of a budget, or all that name none, or are gone: then without an id. */
export interface LedgerEntryRecord {
	executionId: string;
	/** Of which period this is. */
	period: number;
	dims: Amounts;
	/** When something was last reported, or reserved. */
	reportedAt: number;
	/** The hold that has its reservation; empty when none has. */
	holdId: string;
}

export const ledgerEntryDefaults: LedgerEntryRecord = {
	executionId: "",
	period: 0,
	dims: nothing,
	reportedAt: 0,
	holdId: "",
};

export const ledgerEntryShapes: Shapes<LedgerEntryRecord> = { dims: amounts };

export const LEDGER_PREFIX = "ledger:";

export const ledgerKey = (namespace: string, id: string, executionId: string): Key<LedgerEntryRecord> =>
	`${LEDGER_PREFIX}${guardSubject(namespace, id)},${executionId}`;

export const makeLedgerEntry = (fields: Partial<LedgerEntryRecord>): LedgerEntryRecord =>
	makeRecord(ledgerEntryDefaults, fields);

/** What was done under a key, for whoever says it again. */
export interface UsageKeyRecord {
	/** The period it was done in. */
	period: number;
	/** Of a report. */
	outcome: "ok" | "soft_breach";
	dimension: string;
	current: number;
	limit: number;
	/** What was taken back. */
	released: Amounts;
	expiresAt: number;
}

export const usageKeyDefaults: UsageKeyRecord = {
	period: 0,
	outcome: "ok",
	dimension: "",
	current: 0,
	limit: 0,
	released: nothing,
	expiresAt: 0,
};

export const usageKeyShapes: Shapes<UsageKeyRecord> = { released: amounts };

export const USAGE_KEY_PREFIX = "usagekey:";

/** What may be done under a key; keys of one have nothing to do with those of another. */
export type KeyedDeed = "report" | "release" | "reset";

/** The key may hold anything, so it comes last. */
export const usageKeyKey = (namespace: string, id: string, deed: KeyedDeed, key: string): Key<UsageKeyRecord> =>
	`${USAGE_KEY_PREFIX}${guardSubject(namespace, id)},${deed},${key}`;

export const makeUsageKey = (fields: Partial<UsageKeyRecord>): UsageKeyRecord => makeRecord(usageKeyDefaults, fields);
