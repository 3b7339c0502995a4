import { describe, expect, test } from "vitest";
import { simulate } from "./simulate.ts";

const SEEDS = 500;
const STEPS = 300;
const CHUNK = 50;

/** What a run is about must come up in it, and not just now and then. */
const COMMON = [
	"granted",
	"grant accepted",
	"grant_lapsed",
	"blocked waiting_for_capable_worker",
	"unblocked waiting_for_capable_worker",
	"lane pause answered",
	"lane drain answered",
	"agingMs changed",
	"worker came",
	"worker vanished",
	"worker returned",
	"worker removed",
	"turns taken",
	"partitions changed hands",
	"errands beside a sick partition",
	"scans beside writers of their guard",
	"claims refused in an outage",
	"outages survived",
	"admitted by a budget",
	"admitted by a quota",
	"given back to a budget",
	"given back to a quota",
	"blocked waiting_for_budget",
	"unblocked waiting_for_budget",
	"blocked waiting_for_quota",
	"unblocked waiting_for_quota",
	"usage reported",
	"reports repeated",
	"reports refused",
	"guards changed",
	"budget deleted",
	"quota deleted",
	"engines lost in admission",
	"breaches told",
	"stuck heads passed by",
	"turns taken under a quota",
	"rates kept",
	"queue timeouts of blocked work",
	"suspended",
	"suspends repeated",
	"already satisfied",
	"signalled buffered",
	"signalled appended",
	"signalled appended_duplicate",
	"signalled ignored",
	"signals repeated",
	"signals refused: waitpoint_closed",
	"signals refused: token_expired",
	"signals handed over",
	"tokens refused",
	"keys rotated",
	"approved",
	"resumed by satisfied",
	"resumed by resumed",
	"resumed by timeout",
	"resumed by admitted",
	"failed by a timeout",
	"cancelled by a timeout",
	"expired by a timeout",
	"blocked by a timeout",
	"waitpoints made early",
	"waitpoints found again",
	"waits begun again with what they had",
	"steps recorded",
	"steps recalled",
	"slots kept over a suspension",
	"waits that signals ended",
	"timeouts of suspensions kept",
	"engines lost in a wait",
	"appends answered",
	"appends repeated",
	"appends refused: lease_expired",
	"appends refused: stale_lease",
	"appends refused: execution_not_active",
	"chunks trimmed",
	"streams closed: completed",
	"streams closed: failed",
	"streams closed: retry_scheduled",
	"streams closed: cancelled",
	"streams closed: expired",
	"streams closed: lease_expired",
	"streams closed: lease_revoked",
	"streams read",
	"summaries read",
	"streams followed to the end",
	"streams polled to the end",
	"tails that went on at another engine",
	"tails from the end",
	"tails of attempts that never came",
	"streams removed",
	"ends of streams heard of at once",
	"engines lost in a stream",
];

/** `npm run simulate -- --from <seed> --seeds 1` replays what fails here. */
describe(`simulation: ${SEEDS} seeds of ${STEPS} steps`, () => {
	const seen = new Map<string, number>();
	for (let from = 1; from <= SEEDS; from += CHUNK) {
		test(`seeds ${from} to ${from + CHUNK - 1} violate nothing`, { timeout: 300_000 }, async () => {
			for (let seed = from; seed < from + CHUNK; seed++) {
				const finding = await simulate(seed, STEPS, {}, seen);
				expect(finding && `seed ${seed}: ${finding.error.stack}`).toBeUndefined();
			}
		});
	}

	test("everything it is about came up", () => {
		const counts = COMMON.map((what): [string, number] => [what, seen.get(what) ?? 0]);
		process.stdout.write(`simulated: ${counts.map(([what, count]) => `${count} × ${what}`).join(", ")}\n`);
		expect(counts.filter(([, count]) => count < SEEDS / 8)).toEqual([]);
	});
});
