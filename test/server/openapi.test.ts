import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { ERRORS } from "../../src/kernel/errors.ts";
import { ACCESS } from "../../src/server/access.ts";
import { Stand } from "./stand.ts";

test("the description is valid OpenAPI 3.1 and names every route of the access table and no other", async () => {
	const stand = await Stand.open({ docs: true });
	const { json } = await stand.call("GET", "/openapi.json");
	expect(json.openapi).toBe("3.1.0");
	const verdict = await new Validator().validate(structuredClone(json));
	expect(verdict).toMatchObject({ valid: true });
	const described = Object.entries(json.paths).flatMap(([path, methods]) =>
		Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
	);
	expect(described.toSorted()).toEqual(Object.keys(ACCESS).toSorted());
});

test("bodies, queries, replies and errors are described by the shapes that judge them", async () => {
	const stand = await Stand.open({ docs: true });
	const { paths } = (await stand.call("GET", "/openapi.json")).json;
	const create = paths["/v1/executions"].post;
	const { schema } = create.requestBody.content["application/json"];
	expect(schema.required).toEqual(["kind"]);
	expect(schema.additionalProperties).toBe(false);
	expect(schema.properties.policy.properties.retry.properties.maxRetries.type).toBe("integer");
	expect(JSON.stringify(paths)).not.toContain('"allowed"');
	expect(create.responses["201"].content["application/json"].schema.properties.id.type).toBe("string");
	const refused = create.responses.default.content["application/json"].schema.properties.error.properties;
	expect(refused.code.enum).toEqual(Object.keys(ERRORS));
	const limit = paths["/v1/executions"].get.parameters.find(({ name }: { name: string }) => name === "limit");
	expect(limit.schema).toMatchObject({ type: "integer", minimum: 1, maximum: 1000 });
	expect(create.requestBody.required).toBe(true);
	expect(paths["/v1/executions/{id}/cancel"].post.requestBody.required).toBe(false);
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
