# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tool calls: the smallest true answer to a request that offers tools."""

from __future__ import annotations

import json
import uuid
from typing import Any

SAMPLES = {"string": "example", "integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}, "null": None}


def chosen(request: dict[str, Any]) -> dict[str, Any] | None:
    """The function that this answer calls; None when it is to be text."""
    offered: list[dict[str, Any]] = [tool["function"] for tool in request.get("tools") or []]
    choice = request.get("tool_choice", "auto" if offered else "none")
    if not offered or choice == "none" or request["messages"][-1].get("role") == "tool":
        return None
    if isinstance(choice, dict):
        return next(function for function in offered if function["name"] == choice["function"]["name"])
    return offered[0]


def call(function: dict[str, Any]) -> dict[str, Any]:
    """A call of it with a value for every required parameter, of the type its schema wants."""
    schema = function.get("parameters") or {}
    properties = schema.get("properties", {})
    arguments = {name: _sample(properties.get(name, {})) for name in schema.get("required", [])}
    return {
        "id": f"chatcmpl-tool-{uuid.uuid4().hex}",
        "type": "function",
        "function": {"name": function["name"], "arguments": json.dumps(arguments)},
    }


def _sample(schema: dict[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    return SAMPLES.get(schema.get("type", "string"), "example")
