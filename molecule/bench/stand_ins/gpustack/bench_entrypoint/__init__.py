# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entrypoint of the fleet's GPUStack image: what the official image does around ``gpustack start``.

It stands in for two things. The tool that GPUStack would download to look at the host: its size is declared in
GPUStack's own configuration instead. The official image's services: a server without a database of its own gets one
beside it.
"""
