"""What the settings mean to the data plane."""

import msgspec

from notbefore.metadata.connections import Limits
from notbefore.metadata.identity import vm_ref
from notbefore.metadata.service import MetadataOptions
from notbefore.settings.shape import Settings


def metadata_options(settings: Settings) -> MetadataOptions:
    wanted = settings.metadata
    return MetadataOptions(
        rate_limit_per_s=wanted.rate_limit_per_s,
        first_call_delay_s=wanted.first_call_delay_s,
        headerless_post_2017=wanted.headerless_post_2017,
        fallback_vm=vm_ref(wanted.fallback_vm) if wanted.fallback_vm else None,
        proxy_keys=wanted.proxy_keys,
        limits=Limits(**msgspec.structs.asdict(wanted.limits)),
    )
