import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, test } from "vitest";
import { ERRORS } from "../../src/kernel/errors.ts";
import { ACCESS } from "../../src/server/access.ts";
import { entry, Stand } from "./stand.ts";

test("the description names every route of the access table and no other", async () => {
	const stand = await Stand.open({ docs: true });
	const { json } = await stand.call("GET", "/openapi.json");
	expect(json.openapi).toBe("3.1.0");
	const described = Object.entries(json.paths).flatMap(([path, methods]) =>
		Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
	);
	expect(described.toSorted()).toEqual(Object.keys(ACCESS).toSorted());
});

test("a linter that many use finds nothing to say about it", async () => {
	const stand = await Stand.open({ docs: true });
	const { text: source } = await stand.call("GET", "/openapi.json");
	const config = await createConfig({ extends: ["recommended-strict"] });
	const problems = await lintFromString({ source, config });
	expect(problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)).toEqual([]);
});

test("every area has a description, and every call needs a token or says that it does not", async () => {
	const stand = await Stand.open({ docs: true });
	const { json } = await stand.call("GET", "/openapi.json");
	// biome-ignore lint/suspicious/noExplicitAny: whatever the description has
	const operations = Object.values(json.paths).flatMap((methods) => Object.values(methods as any)) as any[];
	const areas = new Set(json.tags.map(({ name }: { name: string }) => name));
	expect(operations.flatMap(({ tags }) => tags).filter((tag) => !areas.has(tag))).toEqual([]);
	expect(json.security).toEqual([{ token: [] }]);
	const open = operations.filter(({ security }) => security?.length === 0).map(({ operationId }) => operationId);
	expect(open.toSorted()).toEqual([
		"getHealthz",
		"getMetrics",
		"getOpenapiJson",
		"getReadyz",
		"getRoot",
		"postCallbacksWp",
		"postExecutionsIdSignals",
	]);
});

test("bodies, queries, replies and errors are described by the shapes that judge them", async () => {
	const stand = await Stand.open({ docs: true });
	const { paths, components } = (await stand.call("GET", "/openapi.json")).json;
	const create = paths["/v1/executions"].post;
	expect(create.requestBody).toEqual({
		required: true,
		content: { "application/json": { schema: { $ref: "#/components/schemas/CreateRequest" } } },
	});
	const { CreateRequest, RetryPolicy, Created } = components.schemas;
	expect(CreateRequest.required).toEqual(["kind"]);
	expect(CreateRequest.additionalProperties).toBe(false);
	expect(RetryPolicy.properties.maxRetries.type).toBe("integer");
	expect(JSON.stringify([paths, components])).not.toContain('"allowed"');
	expect(create.responses["201"].content["application/json"].schema.$ref).toBe("#/components/schemas/Created");
	expect(Created.properties.id.type).toBe("string");
	const limit = paths["/v1/executions"].get.parameters.find(({ name }: { name: string }) => name === "limit");
	expect(limit.schema).toMatchObject({ type: "integer", minimum: 1, maximum: 1000 });
	expect(paths["/v1/executions/{id}/cancel"].post.requestBody.required).toBe(false);
});

test("a refusal of each status names the codes it may have", async () => {
	const stand = await Stand.open({ docs: true });
	const { paths, components } = (await stand.call("GET", "/openapi.json")).json;
	const { responses } = paths["/v1/executions/{id}/complete"].post;
	expect(Object.keys(responses)).toEqual("200 400 401 403 404 409 413 429 503 504 default".split(" "));
	expect(responses["409"]).toEqual({ $ref: "#/components/responses/Conflict" });
	const codesOf = (name: string) =>
		components.responses[name].content["application/json"].schema.properties.error.properties.code.enum;
	expect(codesOf("Conflict")).toContain("stale_lease");
	expect(codesOf("Conflict")).not.toContain("execution_not_found");
	expect(codesOf("Failed")).toEqual(Object.keys(ERRORS));
});

test("the docs are served without frames and without scripts from elsewhere", async () => {
	const stand = await Stand.open({ docs: true });
	const page = await stand.call("GET", "/docs");
	expect(page.status).toBe(200);
	const policy = page.headers.get("content-security-policy") ?? "";
	expect(policy).toContain("frame-ancestors 'none'");
	expect(policy).not.toContain("upgrade-insecure-requests");
	const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
	expect(files).toEqual(expect.arrayContaining(["/docs/page.css", "/docs/page.js", "/openapi.json"]));
	for (const path of files) expect((await stand.call("GET", path)).status, path).toBe(200);
});

test("/ says what the server is, and leads a browser to the docs", async () => {
	const stand = await Stand.open({ docs: true, tokens: [entry("all", "admin")] });
	const told = await stand.call("GET", "/");
	expect(told).toMatchObject({ status: 200, json: { name: "FlowFabric", docs: "/docs", openapi: "/openapi.json" } });
	const browser = { accept: "text/html,application/xhtml+xml" };
	const led = await fetch(`${stand.server.address}/`, { headers: browser, redirect: "manual" });
	expect([led.status, led.headers.get("location")]).toEqual([302, "/docs"]);
	const bare = await Stand.open({ docs: false });
	expect((await bare.call("GET", "/", { headers: browser })).json).not.toHaveProperty("docs");
});
