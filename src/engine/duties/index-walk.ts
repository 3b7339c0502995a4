import type { Kernel } from "../../kernel/kernel.ts";
import type { Placement } from "../../kernel/placement.ts";
import { recordTypeOf } from "../../kernel/record-types.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { ticketKey } from "../../kernel/records/ticket.ts";
import { needsTicket, ticketFor } from "../../kernel/tickets.ts";
import type { IndexEntry, QueuePosition, Store, StoredRecord, Timed } from "../../store/port.ts";

/** Asks the store about the partition that is walked. */
export type AskPartition = <T extends Timed>(question: (store: Store, partition: number) => Promise<T>) => Promise<T>;

/** An index entry that is not as its record says: it lacks, or stands although the record does not want it. */
export interface DriftedEntry extends IndexEntry {
	problem: "missing" | "stale";
	/** The version of the record that says so; 0 when there is none. */
	version: number;
	/** That record; undefined when there is none. */
	record: object | undefined;
	/** Set where the record itself is lacking: it is made if this other one still has that version. */
	madeFor?: { key: string; version: number };
}

/** What one step of a walk looked at. */
export interface WalkedPage {
	records: readonly StoredRecord[];
	/** Index entries looked at, beside those that were looked up for the records. */
	entries: number;
	drift: DriftedEntry[];
}

const PAGE = 256;
/** A record that changes all the while is not worth more looks. */
const MOST_LOOKS = 20;

type Reading = Pick<Kernel, "decode" | "placement">;

/**
 * Holds the index of one partition against what its records say, a page at a time: first whether what every record wants
 * is there, then whether everything that is there is wanted. Others may write meanwhile, so where both seem to differ
 * they are looked at once more, at one version of the record, and only what differs then is told.
 *
 * A queue that lacked an entry may have been taken for empty, and the ticket that led to it let go: work that needs a
 * ticket and has none is told of as an entry its ticket lacks.
 *
 * Of a record that cannot be read, or is of a kind unknown here, nobody can say what it wants: its entries are left alone.
 */
export class IndexWalk {
	readonly #ask: AskPartition;
	readonly #kernel: Reading;
	#cursor: string | undefined;
	/** Queues still to be gone through, the next one last; undefined while records are. */
	#queues: string[] | undefined;
	#after: QueuePosition | undefined;

	constructor(ask: AskPartition, kernel: Reading) {
		this.#ask = ask;
		this.#kernel = kernel;
	}

	/** Looks at the next page; undefined when all has been looked at. A step that fails can be made again. */
	async step(): Promise<WalkedPage | undefined> {
		return this.#queues ? this.#stepThrough(this.#queues) : this.#stepOverRecords();
	}

	async #stepOverRecords(): Promise<WalkedPage> {
		const { records, cursor, time } = await this.#ask((store, at) => store.scan(at, this.#cursor, PAGE));
		const wanted = records.flatMap((stored) => this.#wantedBy(stored));
		const { standing } =
			wanted.length > 0 ? await this.#ask((store, at) => store.standing(at, wanted)) : { standing: [] };
		const lacking = await this.#confirm(wanted.filter((_, n) => !standing[n]));
		const drift = [...lacking, ...(await this.#findTicketless(records, time))];
		if (cursor === undefined) {
			const { queues } = await this.#ask((store, at) => store.queues(at, ""));
			this.#queues = queues.reverse();
		} else this.#cursor = cursor;
		return { records, entries: 0, drift };
	}

	async #stepThrough(queues: string[]): Promise<WalkedPage | undefined> {
		const queue = queues.at(-1);
		if (queue === undefined) return undefined;
		const { entries } = await this.#ask((store, at) => store.first(at, queue, PAGE, this.#after));
		const keys = entries.map(({ key }) => key);
		const { records } = keys.length > 0 ? await this.#ask((store, at) => store.read(at, keys)) : { records: [] };
		const suspects = records.flatMap((stored, n): DriftedEntry[] => {
			const { key, score } = entries[n] as QueuePosition;
			const { places, record } = this.#read(stored);
			if (!places || stands(places, queue, score)) return [];
			return [{ queue, key, score, problem: "stale", version: stored.version, record }];
		});
		const drift = await this.#confirm(suspects);
		if (entries.length < PAGE) queues.pop();
		this.#after = entries.length < PAGE ? undefined : entries.at(-1);
		return { records: [], entries: entries.length, drift };
	}

	async #findTicketless(records: readonly StoredRecord[], now: number): Promise<DriftedEntry[]> {
		const needing = new Map<string, { key: string; version: number; record: ExecutionRecord }>();
		for (const stored of records) {
			if (recordTypeOf(stored.key) !== "execution") continue;
			const record = this.#read(stored).record as ExecutionRecord | undefined;
			if (record && needsTicket(record)) needing.set(ticketKey(record), { ...stored, record });
		}
		if (needing.size === 0) return [];
		const tickets = await this.#ask((store, at) => store.read(at, [...needing.keys()]));
		const lacking = tickets.records.filter(({ version }) => version === 0).map(({ key }) => key);
		if (lacking.length === 0) return [];
		// As above: only work that has the same version before and after its ticket was looked for had none.
		const owners = lacking.map((key) => needing.get(key) as { key: string; version: number; record: ExecutionRecord });
		const again = await this.#ask((store, at) =>
			store.read(
				at,
				owners.map(({ key }) => key),
			),
		);
		return owners.flatMap(({ key: owner, version, record }, n): DriftedEntry[] => {
			if (again.records[n]?.version !== version) return [];
			const key = lacking[n] as string;
			const ticket = ticketFor(record, now);
			const lack = { key, problem: "missing", version: 0, record: ticket, madeFor: { key: owner, version } } as const;
			return this.#kernel.placement(key, ticket).map((place) => ({ ...place, ...lack }));
		});
	}

	/** An entry looked at between two reads that give the same version was what it was at that version. */
	async #confirm(suspects: DriftedEntry[]): Promise<DriftedEntry[]> {
		const drift: DriftedEntry[] = [];
		let open = suspects;
		for (let looks = 0; open.length > 0 && looks < MOST_LOOKS; looks++) {
			const asked = open;
			const keys = asked.map(({ key }) => key);
			const { standing } = await this.#ask((store, at) => store.standing(at, asked));
			const { records } = await this.#ask((store, at) => store.read(at, keys));
			open = [];
			asked.forEach((suspect, n) => {
				const stored = records[n] as StoredRecord;
				if (stored.version === suspect.version) {
					if (standing[n] === (suspect.problem === "stale")) drift.push(suspect);
					return;
				}
				const { places, record } = this.#read(stored);
				if (!places) return;
				const problem = stands(places, suspect.queue, suspect.score) ? "missing" : "stale";
				open.push({ ...suspect, problem, version: stored.version, record });
			});
		}
		return drift;
	}

	#wantedBy(stored: StoredRecord): DriftedEntry[] {
		const { key, version } = stored;
		const { places = [], record } = this.#read(stored);
		return places.map(({ queue, score }) => ({ queue, key, score, problem: "missing", version, record }));
	}

	/** `places` is undefined where nobody can say. */
	#read({ key, version, doc }: StoredRecord): { places: Placement[] | undefined; record: object | undefined } {
		if (version === 0) return { places: [], record: undefined };
		const unknown = { places: undefined, record: undefined };
		if (recordTypeOf(key) === undefined) return unknown;
		try {
			const record = this.#kernel.decode(key, doc);
			return { places: this.#kernel.placement(key, record), record };
		} catch {
			return unknown;
		}
	}
}

const stands = (places: readonly Placement[], queue: string, score: number): boolean =>
	places.some((place) => place.queue === queue && place.score === score);
