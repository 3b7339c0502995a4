import { openStoreAt } from "../../library/open.ts";
import { oneLine } from "../format/table.ts";
import type { Frame } from "../frame.ts";
import { withoutPassword } from "../settings/values.ts";
import { type Audit, auditStore } from "./audit.ts";
import type { Findings } from "./findings.ts";

/** Looks over a store nobody else has open. */
export async function examineStore({ terminal }: Frame, url: string): Promise<Findings> {
	const store = await openStoreAt(url, { mustExist: true });
	try {
		terminal.status("checking the store itself");
		const checkUp = await store.checkUp?.();
		const audit = await auditStore(store, (looked) => terminal.status(`${looked} records looked over`));
		const executions = audit.records["execution"] ?? 0;
		const perExecution = (bytes: number) => (executions > 0 ? Math.round(bytes / executions) : 0);
		return {
			facts: {
				store: withoutPassword(url),
				...checkUp?.facts,
				partitions: store.partitions,
				...(checkUp ? { bytes: checkUp.bytes, "bytes per execution": perExecution(checkUp.bytes) } : undefined),
				"document bytes per execution": perExecution(audit.documentBytes),
				records: audit.records,
				executions: audit.executions,
				"index entries": audit.indexEntries,
				"corrupt records": audit.corrupt.count,
				"index drift": { missing: audit.drift.missing, stale: audit.drift.stale },
			},
			problems: [...(checkUp?.problems ?? []), ...problemsOf(audit)],
		};
	} finally {
		terminal.status("");
		await store.close();
	}
}

function problemsOf({ corrupt, drift }: Audit): string[] {
	const records = corrupt.samples.map(({ partition, key, field, problem }) =>
		oneLine(`record ${key} in partition ${partition}: ${field === "" ? "" : `${field} `}${problem}`),
	);
	const entries = drift.samples.map(({ partition, queue, key, score, problem }) =>
		oneLine(`index of partition ${partition}: ${key} in ${queue} at ${score} is ${problem}`),
	);
	const drifted = drift.missing + drift.stale;
	return [
		...records,
		...more("corrupt records", corrupt.count - records.length),
		...entries,
		...more("index entries", drifted - entries.length),
	];
}

const more = (what: string, count: number): string[] => (count > 0 ? [`… and ${count} more ${what}`] : []);
