import { describe, expect, it } from "vitest";
import { ERRORS, type ErrorCode } from "../../src/kernel/errors.ts";

const table = Object.entries(ERRORS) as [ErrorCode, { status: number; retryable: boolean; message: string }][];

/** Codes the specification names, with the status it gives them. */
const named: [code: ErrorCode, status: number][] = [
	["invalid_input", 400],
	["fence_required", 400],
	["invalid_tag_key", 400],
	["unauthorized", 401],
	["forbidden", 403],
	["not_found", 404],
	["execution_not_found", 404],
	["result_not_found", 404],
	["result_not_ready", 409],
	["idempotency_conflict", 409],
	["execution_not_active", 409],
	["execution_not_terminal", 409],
	["max_replays_exhausted", 409],
	["stale_lease", 409],
	["lease_expired", 409],
	["lease_revoked", 409],
	["lane_draining", 409],
	["payload_too_large", 413],
	["too_many_requests", 429],
	["corrupt_record", 500],
	["store_corrupt", 500],
	["store_unavailable", 503],
	["shutting_down", 503],
];

describe("the table of errors", () => {
	for (const [code, status] of named) {
		it(`${code} is a ${status}`, () => {
			expect(ERRORS[code].status).toBe(status);
		});
	}

	it("uses only the statuses of the specification, and 405", () => {
		const allowed = [400, 401, 403, 404, 405, 409, 413, 429, 500, 503, 504];
		expect(table.filter(([, { status }]) => !allowed.includes(status))).toEqual([]);
	});

	it("calls retryable only what may pass by itself: 429, 503 and 504", () => {
		for (const [code, { status, retryable }] of table) {
			if (retryable) expect([code, [429, 503, 504].includes(status)]).toEqual([code, true]);
		}
		expect(ERRORS.store_unavailable.retryable).toBe(true);
		expect(ERRORS.shutting_down.retryable).toBe(true);
	});

	it("calls no business refusal retryable", () => {
		for (const [code, { status, retryable }] of table) {
			if (status < 429) expect([code, retryable]).toEqual([code, false]);
		}
	});

	it("names codes in snake_case, each with a sentence", () => {
		for (const [code, { message }] of table) {
			expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
			expect(message.length).toBeGreaterThan(10);
		}
	});
});
